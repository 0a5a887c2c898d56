"""Requests to an application in this process, without a socket."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI

__all__ = ["Client"]


@dataclass(slots=True)
class Client:
    """Somebody with cookies of their own, as a browser or a program.

    Args:
        application: What is asked.
        base: Its address; https stands for a proxy that ends TLS.
        headers: Of every request.
    """

    application: FastAPI
    base: str = "http://desk.example.org"
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: httpx.Cookies = field(default_factory=httpx.Cookies)

    def request(self, method: str, path: str, **rest: Any) -> httpx.Response:  # noqa: ANN401  (as httpx takes it)
        """The reply to one request; nothing is followed."""
        headers = {**self.headers, **(rest.pop("headers", None) or {})}
        return asyncio.run(self._request(method, path, headers, rest))

    def get(self, path: str, **rest: Any) -> httpx.Response:  # noqa: ANN401
        """The reply to a GET."""
        return self.request("GET", path, **rest)

    def post(self, path: str, **rest: Any) -> httpx.Response:  # noqa: ANN401
        """The reply to a POST."""
        return self.request("POST", path, **rest)

    async def _request(
        self, method: str, path: str, headers: Mapping[str, str], rest: Mapping[str, Any]
    ) -> httpx.Response:
        transport = httpx.ASGITransport(self.application, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url=self.base, cookies=self.cookies
        ) as client:
            reply = await client.request(method, path, headers=dict(headers), **rest)
            self.cookies = client.cookies
            return reply
