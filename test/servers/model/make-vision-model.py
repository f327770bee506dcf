"""Makes a tiny model that takes images, with random weights: what it says means nothing, but
depends on every pixel, and is the same each time. Run by the Python of a vLLM: FOLDER TEXT_MODEL."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoTokenizer,
    CLIPImageProcessor,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
)

folder, text_model = Path(sys.argv[1]), Path(sys.argv[2])
side, patch = 56, 14

tokenizer = AutoTokenizer.from_pretrained(text_model)
tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})

vision = CLIPVisionConfig(
    hidden_size=128,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=2,
    image_size=side,
    patch_size=patch,
)
given = json.loads((text_model / "config.json").read_text())
unused = ("architectures", "transformers_version", "dtype", "vocab_size")
text = LlamaConfig(**{name: given[name] for name in given if name not in unused}, vocab_size=704)
config = LlavaConfig(
    vision_config=vision,
    text_config=text,
    image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    image_seq_length=(side // patch) ** 2,
    vision_feature_layer=-1,
)

torch.manual_seed(1)
model = LlavaForConditionalGeneration(config).to(torch.bfloat16)
for parameter in model.parameters():
    if parameter.dim() > 1:
        torch.nn.init.normal_(parameter, std=0.15)
model.save_pretrained(folder)

# vLLM knows the parts of the vision tower under the names that they had before Transformers 5.
weights = folder / "model.safetensors"
tower = "vision_tower."
renamed = {
    name.replace(tower, f"{tower}vision_model.") if f"{tower}vision_model." not in name else name: value
    for name, value in load_file(weights).items()
}
save_file(renamed, weights, metadata={"format": "pt"})

size = {"size": {"shortest_edge": side}, "crop_size": {"height": side, "width": side}}
LlavaProcessor(
    image_processor=CLIPImageProcessor(**size),
    tokenizer=tokenizer,
    patch_size=patch,
    vision_feature_select_strategy="default",
    num_additional_image_tokens=1,
).save_pretrained(folder)
(folder / "chat_template.jinja").write_text(
    "{% for message in messages %}<|{{ message.role }}|>"
    "{% if message.content is string %}{{ message.content }}{% else %}"
    "{% for part in message.content %}"
    "{{ part.text if part.type == 'text' else '<image>' }}{% endfor %}{% endif %}"
    "<|end|>{% endfor %}<|assistant|>"
)
