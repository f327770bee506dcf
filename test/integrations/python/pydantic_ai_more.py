"""A stream, then an agent that calls a tool and reads its result."""

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

url, model = sys.argv[1:]
provider = OpenAIProvider(base_url=f"{url}/v1", api_key="unused")
agent = Agent(OpenAIChatModel(model, provider=provider))


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: 14 degrees"


async def stream() -> str:
    async with agent.run_stream("Hello") as answer:
        return await answer.get_output()


print("stream:", asyncio.run(stream()))
print(agent.run_sync('[[tool get_weather {"city": "Oslo"}]] What is the weather?').output)
