# A server on the embedded store: `docker run -v palimpsest:/warehouse palimpsest`. Clients of the
# container use the socket in /warehouse: `docker exec -it .. palimpsest shell palimpsest:////warehouse`.
FROM python:3.13-slim-trixie AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY gateway gateway
COPY rewriter rewriter
COPY journal journal
COPY spark_compaction spark_compaction
ARG EXTRAS=sqlalchemy,client,postgres,jobs,metrics
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
CMD ["serve", "palimpsest:////warehouse", "--http", "0.0.0.0:8080", "--log-format", "json"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
