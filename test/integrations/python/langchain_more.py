"""A stream, then a tool call whose result goes back to the model."""

import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

url, model = sys.argv[1:]


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: 14 degrees"


chat = ChatOpenAI(model=model, api_key="unused", base_url=f"{url}/v1")
print("stream:", "".join(chunk.content for chunk in chat.stream("Hello")))

with_tools = chat.bind_tools([get_weather])
question = HumanMessage('[[tool get_weather {"city": "Oslo"}]] What is the weather?')
answer = with_tools.invoke([question])
call = answer.tool_calls[0]
result = ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])
print(with_tools.invoke([question, answer, result]).content)
