"""Logins by a signed token (JWT, RFC 7519), as identity providers issue them by OpenID Connect.

A token is taken that one of the keys has signed, for this audience, by this issuer, not expired,
whose claim is the user's name. Keys are a set (JWKS) or a public key (PEM), in a file that is read
at each login, or a set at an https URL, which is kept for some minutes.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import jwt

_LOG = logging.getLogger("palimpsest.login")
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
"""Those with a public key: one that both sides know would sign for everybody."""
_TIMEOUT_S = 5
_LEEWAY_S = 30


class BearerTokens:
    """Takes tokens of one issuer; ``claim`` is where they have the user's name."""

    kind = "token"

    def __init__(self, keys: str, issuer: str, audience: str, claim: str) -> None:
        self._issuer, self._audience, self._claim = issuer, audience, claim
        is_url = "://" in keys
        self._file = None if is_url else Path(keys)
        self._client = jwt.PyJWKClient(keys, timeout=_TIMEOUT_S) if is_url else None

    def is_users(self, name: str, password: str) -> bool:
        """Whether a password is a token that says this name."""
        if password.count(".") != 2:
            return False
        try:
            said = jwt.decode(
                password,
                self._key_of(password),
                algorithms=_ALGORITHMS,
                audience=self._audience,
                issuer=self._issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud", self._claim]},
            )
        except (jwt.PyJWTError, OSError, ValueError) as error:
            _LOG.warning("the token of user %r was not taken: %s", name, error)
            return False
        return bool(said.get(self._claim) == name)

    def claimed_user(self, token: str) -> str | None:
        """Whose a token says that it is; whether that is so, ``is_users`` says."""
        try:
            said = jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError):
            return None
        name = said.get(self._claim)
        return name if isinstance(name, str) else None

    def _key_of(self, token: str) -> jwt.PyJWK | str:
        """The key that a token names; raises PyJWTError, OSError."""
        if self._client is not None:
            return self._client.get_signing_key_from_jwt(token)
        assert self._file is not None
        text = self._file.read_text(encoding="utf-8")
        if text.lstrip().startswith("-----BEGIN"):
            return text
        keys = jwt.PyJWKSet.from_dict(json.loads(text)).keys
        wanted = jwt.get_unverified_header(token).get("kid")
        found = [key for key in keys if wanted is None or key.key_id == wanted]
        if len(found) != 1:
            raise jwt.PyJWKSetError(f"{self._file} has {len(found)} keys of the id {wanted!r}")
        return found[0]
