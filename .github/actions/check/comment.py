"""The step of the action that writes the comment of a pull request, or renews the one that an earlier run wrote."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# GitHub's limit is 65,536 characters.
MAX_CHARACTERS = 65_000
PER_PAGE = 100


def main() -> None:
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("no pull request: no comment")
        return
    marker = f"<!-- ksched check: {os.environ['KSCHED_NAME'].replace('--', '-')} -->"
    body = f"{marker}\n{Path(os.environ['KSCHED_COMMENT']).read_text(encoding='utf-8')}"
    if len(body) > MAX_CHARACTERS:
        body = body[:MAX_CHARACTERS].rpartition("\n")[0] + "\n\n… and more: see the summary of the run."
    base = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        old = next((each for each in comments(f"{base}/{number}/comments") if each["body"].startswith(marker)), None)
        if old is None:
            request("POST", f"{base}/{number}/comments", {"body": body})
        elif old["body"] != body:
            request("PATCH", f"{base}/comments/{old['id']}", {"body": body})
    except urllib.error.HTTPError as problem:
        # The token of a pull request from a fork may only read.
        print(f"::warning title=ksched::cannot write the comment: {problem.code} {problem.reason}")


def comments(url: str) -> Iterator[dict[str, Any]]:
    page = 1
    while found := request("GET", f"{url}?per_page={PER_PAGE}&page={page}"):
        yield from found
        if len(found) < PER_PAGE:
            return
        page += 1


def request(method: str, url: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main()
