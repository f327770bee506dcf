"""The official Python clients against a running stack; prints one JSON object with what they saw."""

import json
import sys

import anthropic
import openai

base, key, model, embed_model, salt, words = sys.argv[1:7]
seen = {"openai_version": openai.__version__, "anthropic_version": anthropic.__version__}

client = openai.OpenAI(base_url=base + "/v1", api_key=key, max_retries=0)
messages = [{"role": "user", "content": words}]
whole = client.chat.completions.create(
    model=model, messages=messages, extra_body={"cache_salt": salt}
)
seen["chat"] = whole.choices[0].message.content
stream = client.chat.completions.create(
    model=model, messages=messages, stream=True, stream_options={"include_usage": True}
)
text, usage = "", None
for chunk in stream:
    usage = chunk.usage or usage
    text += chunk.choices[0].delta.content or "" if chunk.choices else ""
seen["stream"] = text
seen["stream_tokens"] = usage.total_tokens
tools = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
        },
    }
]
order = [{"role": "user", "content": '[[tool look {"at":"sky"}]]'}]
called = client.chat.completions.create(model=model, messages=order, tools=tools)
seen["tool"] = json.loads(called.choices[0].message.tool_calls[0].function.arguments)
seen["completion"] = client.completions.create(model=model, prompt="hi").choices[0].text
# This client asks for base64 by default as well.
vector = client.embeddings.create(model=embed_model, input="the sea").data[0].embedding
floats = client.embeddings.create(model=embed_model, input="the sea", encoding_format="float")
seen["embedding_error"] = max(abs(a - b) for a, b in zip(vector, floats.data[0].embedding))
seen["embedding_length"] = len(vector)
seen["response"] = client.responses.create(model=model, input="hi").output_text
seen["models"] = sorted(one.id for one in client.models.list())
try:
    client.chat.completions.create(model="none", messages=messages)
except openai.NotFoundError as error:
    seen["error_code"] = error.code

claude = anthropic.Anthropic(base_url=base, api_key=key, max_retries=0)
message = claude.messages.create(
    model=model, max_tokens=200, messages=messages, extra_body={"cache_salt": salt}
)
seen["message"] = message.content[0].text
with claude.messages.stream(model=model, max_tokens=200, messages=messages) as events:
    seen["message_stream"] = "".join(events.text_stream)
counted = claude.messages.count_tokens(model=model, messages=messages)
seen["counted"] = counted.input_tokens == message.usage.input_tokens
seen["claude_models"] = sorted(one.id for one in claude.models.list())
print(json.dumps(seen))
