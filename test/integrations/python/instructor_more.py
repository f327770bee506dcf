"""A structured answer by a tool call."""

import sys

import instructor
from openai import OpenAI
from pydantic import BaseModel

url, model = sys.argv[1:]


class Weather(BaseModel):
    city: str
    degrees: int


client = instructor.from_openai(OpenAI(base_url=f"{url}/v1", api_key="unused"), mode=instructor.Mode.TOOLS)
order = '[[tool Weather {"city": "Oslo", "degrees": 14}]] What is the weather?'
weather = client.chat.completions.create(
    model=model, response_model=Weather, messages=[{"role": "user", "content": order}]
)
print(weather.city, weather.degrees)
