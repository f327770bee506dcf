"""A chat as a stream, and a tool call."""

import sys

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

url, model = sys.argv[1:]


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: 14 degrees"


llm = OpenAILike(
    model=model,
    api_key="unused",
    api_base=f"{url}/v1",
    is_chat_model=True,
    is_function_calling_model=True,
)
parts = llm.stream_chat([ChatMessage(role="user", content="Hello")])
print("stream:", "".join(part.delta or "" for part in parts))

tool = FunctionTool.from_defaults(get_weather)
answer = llm.chat_with_tools([tool], user_msg='[[tool get_weather {"city": "Oslo"}]] The weather?')
call = llm.get_tool_calls_from_response(answer)[0]
print("call:", call.tool_name, call.tool_kwargs["city"])
