"""Asks with the official Python clients: a line of JSON for each call in, one for each result out."""

import asyncio
import json
import sys
import time

import anthropic
import openai

CLIENTS = {}


def client_of(job):
    """Of one proxy all calls share a client; a connection that is watched by itself has its own."""
    kind = openai.AsyncOpenAI if job["client"] == "openai-python" else anthropic.AsyncAnthropic
    url = job["url"] + ("/v1" if kind is openai.AsyncOpenAI else "")
    made = CLIENTS.get((kind, url)) or kind(base_url=url, api_key=job["apiKey"], max_retries=0, timeout=600)
    if job["shared"]:
        CLIENTS[(kind, url)] = made
    return made


async def ask(job):
    client = client_of(job)
    body = job["body"]
    if "input" in body:
        raw = await client.embeddings.with_raw_response.create(**body)
    elif job["client"] == "openai-python":
        raw = await client.chat.completions.with_raw_response.create(**body)
    else:
        raw = await client.messages.with_raw_response.create(**body)
    parsed = raw.parse()
    if asyncio.iscoroutine(parsed):
        parsed = await parsed
    if body.get("stream"):
        # Reads until the client itself says that there is no more, and closes as it does.
        async for _ in parsed:
            pass
    request_id = raw.headers.get("x-request-id")
    if not job["shared"]:
        await client.close()
    return request_id


async def play(job):
    started = time.perf_counter()
    result = {"id": job["id"]}
    try:
        result["requestId"] = await ask(job)
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        result["requestId"] = error.response.headers.get("x-request-id")
        if not job["isError"]:
            result["error"] = repr(error)
    except Exception as error:  # noqa: BLE001 - told to whoever asked
        result["error"] = repr(error)
    result["totalMs"] = (time.perf_counter() - started) * 1000
    print(json.dumps(result), flush=True)


async def main():
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running = set()
    while line := await reader.readline():
        task = asyncio.create_task(play(json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)


asyncio.run(main())
