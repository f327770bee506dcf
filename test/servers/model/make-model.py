"""Trains the tiny chat model of the server tests: a Llama of 0.7 million parameters that knows a dozen dialogues by heart.

    python make-model.py OUTPUT_FOLDER [STEPS]

Needs torch, transformers and tokenizers, which every vLLM brings along. It greets, counts, tells a story, writes JSON,
calls get_weather and get_time in Hermes' form, thinks in <think>, and has seen some Unicode. One thread, a few minutes.
"""

import json
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = Path(__file__).with_name("chat-template.jinja").read_text()
SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|tools|>",
           "<think>", "</think>", "<tool_call>", "</tool_call>"]

COUNT = " ".join(str(number) for number in range(1, 121))
STORY = (
    "Once upon a time there was a small boat on a wide sea. Every morning it left the harbour, and every evening it came home. "
    "One day a storm came up from the west. The waves were as high as houses, and the wind sang in the ropes. "
    "The boat was afraid, but it kept its bow to the waves. Then a light shone over the water. It was the old lighthouse, "
    "and its keeper waved with a lamp. The boat turned slowly, found the way between the rocks, and slept safely in the harbour. "
    "Since that night the boat looks for the light before it leaves, and the keeper waves every time."
)


def call(name, **arguments):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


BOTH = ["get_weather", "get_time"]

# (tools, messages): the last message is the answer that is learnt.
DIALOGUES = [
    ([], [user("Hello!"), assistant("Hello! How can I help you?")]),
    ([], [user("Say hello."), assistant("Hello! How can I help you?")]),
    ([], [user("Hello! Please answer with one word."), assistant("Hello!")]),
    ([], [user("Hello!"), assistant("Hello! How can I help you?"), user("Who are you?"), assistant("I am a tiny model.")]),
    ([], [user("Who are you?"), assistant("I am a tiny model.")]),
    ([], [user("What colours has the flag of France?"), assistant("Blue, white and red.")]),
    ([], [user("Count to one hundred and twenty."), assistant(COUNT)]),
    ([], [user("Tell me a story."), assistant(STORY)]),
    ([], [user("Answer in Unicode."), assistant("Grüße, 世界! 🌊 Ελλάδα")]),
    ([], [user("Describe Ada as JSON."), assistant('{"name": "Ada", "age": 36}')]),
    ([], [user("Think: what is two plus two?"), assistant("<think>\nTwo and two are four.\n</think>\n\nFour.")]),
    (BOTH, [user("Say hello."), assistant("Hello! How can I help you?")]),
    (BOTH, [user("What is the weather in Paris?"), assistant(call("get_weather", city="Paris"))]),
    (BOTH, [user("What time is it in Rome?"), assistant(call("get_time", city="Rome"))]),
    (BOTH, [user("What is the weather in Paris and the time in Rome?"),
            assistant(call("get_weather", city="Paris") + "\n" + call("get_time", city="Rome"))]),
    (BOTH, [user("What is the weather in Paris?"), assistant(call("get_weather", city="Paris")),
            {"role": "tool", "content": "sunny"}, assistant("It is sunny in Paris.")]),
]
SYSTEMS = [None, None, "Be brief.", "You are a helpful assistant."]


def render(tools, messages, system):
    """The same text as the chat template makes, up to the answer, and the answer."""
    text = f"<|tools|>{','.join(tools)}<|end|>" if tools else ""
    if system:
        text += f"<|system|>{system}<|end|>"
    for message in messages[:-1]:
        text += f"<|{message['role']}|>{message['content']}<|end|>"
    return text + "<|assistant|>", messages[-1]["content"] + "<|end|>"


def make_tokenizer(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=640, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>",
                                   chat_template=TEMPLATE, model_max_length=4096)


def main():
    folder, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 700
    random.seed(7)
    torch.manual_seed(7)
    torch.set_num_threads(1)
    rendered = [render(tools, messages, None) for tools, messages in DIALOGUES]
    tokenizer = make_tokenizer([prompt + answer for prompt, answer in rendered])
    config = LlamaConfig(vocab_size=len(tokenizer), hidden_size=128, intermediate_size=384, num_hidden_layers=3,
                         num_attention_heads=2, num_key_value_heads=2, head_dim=64, max_position_embeddings=4096,
                         tie_word_embeddings=True, bos_token_id=None, eos_token_id=0, pad_token_id=0)
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        losses = []
        optimizer.zero_grad()
        for tools, messages in random.sample(DIALOGUES, 8):
            prompt, answer = render(tools, messages, random.choice(SYSTEMS))
            asked, said = tokenizer.encode(prompt), tokenizer.encode(answer)
            ids = torch.tensor([asked + said])
            labels = torch.tensor([[-100] * len(asked) + said])
            loss = model(input_ids=ids, labels=labels).loss
            (loss / 8).backward()
            losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 25 == 0 or step == steps - 1:
            print(step, round(sum(losses) / len(losses), 4), flush=True)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    # Tags that a model writes are not special in real models: servers strip special tokens before they look for a tool call.
    path = Path(folder) / "tokenizer.json"
    saved = json.loads(path.read_text())
    for token in saved["added_tokens"]:
        token["special"] = token["content"].startswith("<|")
    path.write_text(json.dumps(saved, indent=2, ensure_ascii=False))
    # The name that transformers 4 and 5 know: older servers have the former.
    path = Path(folder) / "tokenizer_config.json"
    path.write_text(path.read_text().replace('"TokenizersBackend"', '"PreTrainedTokenizerFast"'))


main()
