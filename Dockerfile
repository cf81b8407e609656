# The gateway with its embedded store: `docker run -it -v palimpsest:/warehouse palimpsest`.
FROM python:3.13-slim-trixie AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY gateway gateway
COPY rewriter rewriter
COPY journal journal
COPY spark_compaction spark_compaction
ARG EXTRAS=sqlalchemy,postgres,jobs
RUN python -m venv /opt/palimpsest \
    && /opt/palimpsest/bin/pip install --no-cache-dir ".[${EXTRAS}]"

FROM python:3.13-slim-trixie
RUN useradd --system --uid 10001 --create-home palimpsest \
    && install --directory --owner=palimpsest --group=palimpsest /warehouse
COPY --from=build /opt/palimpsest /opt/palimpsest
ENV PATH=/opt/palimpsest/bin:$PATH PYTHONUNBUFFERED=1
USER palimpsest
WORKDIR /warehouse
VOLUME /warehouse
ENTRYPOINT ["palimpsest"]
CMD ["shell", "palimpsest:////warehouse"]
