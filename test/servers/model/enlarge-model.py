"""Makes the tiny model as costly as a large one: the same answers, to the last logit, from many more parameters.

    python enlarge-model.py TINY_FOLDER OUTPUT_FOLDER [HIDDEN LAYERS INTERMEDIATE HEADS KEY_VALUE_HEADS]

A GPU answers the tiny model in microseconds that are all overhead; what the stack adds only means something beside
a model that takes time. Everything new is zero, so it computes as much and changes nothing. Without sizes, it has
a billion parameters. HIDDEN is that of the tiny model times a power of four, so that no number is rounded.
Needs torch and safetensors, which every vLLM brings along.
"""

import json
import shutil
import sys
from math import log2, sqrt
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def enlarge(source, output, hidden=2048, layers=16, intermediate=8192, heads=32, key_value_heads=8):
    config = json.loads((source / "config.json").read_text())
    tiny, size = config["hidden_size"], config["head_dim"]
    old_heads, old_layers = config["num_attention_heads"], config["num_hidden_layers"]
    if old_heads != config["num_key_value_heads"]:
        raise SystemExit("a model whose heads share keys and values cannot be enlarged")
    shrink = sqrt(tiny / hidden)
    if not log2(shrink).is_integer():
        raise SystemExit(f"{hidden} is not {tiny} times a power of four")
    group = heads // key_value_heads
    old = load_file(source / "model.safetensors")

    def place(shape, name, rows=None, columns=None):
        """Zeros, with the tiny model's tensor at these rows and columns, or in the first ones."""
        tensor = torch.zeros(shape, dtype=torch.bfloat16)
        if name in old:
            small = old[name]
            rows = torch.arange(small.shape[0]) if rows is None else rows
            columns = torch.arange(small.shape[1]) if columns is None else columns
            tensor[rows[:, None], columns[None, :]] = small
        return tensor

    def norm(name):
        """The mean is over more numbers now, all but the first of them zero."""
        tensor = torch.zeros(hidden, dtype=torch.bfloat16)
        if name in old:
            tensor[:tiny] = old[name] * shrink
        return tensor

    # Heads in groups share keys and values: each old head becomes the first of a group.
    queries = torch.cat([torch.arange(size) + head * group * size for head in range(old_heads)])
    new = {"model.embed_tokens.weight": place((config["vocab_size"], hidden), "model.embed_tokens.weight"),
           "model.norm.weight": norm("model.norm.weight")}
    for layer in range(layers):
        at = f"model.layers.{layer}"
        attention, mlp = f"{at}.self_attn", f"{at}.mlp"
        for name in ("input_layernorm", "post_attention_layernorm"):
            new[f"{at}.{name}.weight"] = norm(f"{at}.{name}.weight")
        new[f"{attention}.q_proj.weight"] = place((heads * size, hidden), f"{attention}.q_proj.weight", rows=queries)
        for name in ("k_proj", "v_proj"):
            new[f"{attention}.{name}.weight"] = place((key_value_heads * size, hidden), f"{attention}.{name}.weight")
        new[f"{attention}.o_proj.weight"] = place((hidden, heads * size), f"{attention}.o_proj.weight", columns=queries)
        for name in ("gate_proj", "up_proj"):
            new[f"{mlp}.{name}.weight"] = place((intermediate, hidden), f"{mlp}.{name}.weight")
        new[f"{mlp}.down_proj.weight"] = place((hidden, intermediate), f"{mlp}.down_proj.weight")
    if layers < old_layers or not set(old) <= set(new):
        raise SystemExit(f"no place for {sorted(set(old) - set(new))}")
    output.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name != "model.safetensors":
            shutil.copy(path, output / path.name)
    save_file(new, output / "model.safetensors", metadata={"format": "pt"})
    config |= {"hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": layers,
               "num_attention_heads": heads, "num_key_value_heads": key_value_heads,
               "rms_norm_eps": config["rms_norm_eps"] * tiny / hidden}
    (output / "config.json").write_text(json.dumps(config, indent=2))
    print(sum(tensor.numel() for tensor in new.values()), "parameters")


if __name__ == "__main__":
    enlarge(Path(sys.argv[1]), Path(sys.argv[2]), *(int(size) for size in sys.argv[3:]))
