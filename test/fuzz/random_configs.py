"""Random configurations of the families of transformers: those of the golden cases with some fields changed, any that a
configuration has, so that one nobody thought of is either refused or means what it means there."""

import dataclasses
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
import transformers  # noqa: E402
from case import ALL_SETS, Case  # noqa: E402
from cases import CASES  # noqa: E402
from compare import image_tokens  # noqa: E402
from native_models import NATIVE_MODELS  # noqa: E402

BASES = [case for case in CASES if case.model not in NATIVE_MODELS]

# Say nothing about what forward() computes: names, types, what generate() and the trainer read.
NOT_COMPUTED = {
    "architectures", "dtype", "id2label", "label2id", "chunk_size_feed_forward", "problem_type", "return_dict", "output_attentions",
    "output_hidden_states", "transformers_version", "model_type", "_name_or_path", "pad_token_id", "decoder_start_token_id"}

# Of golden cases, what transformers 4 and 5 do not agree about: 5.24's decoder does not scale words; a tied head that has
# weights of its own in the file is tied for 4.
OF_ANOTHER_VERSION = {"blenderbot-small-lm": {"scale_embedding"}, "t5-own-head": {"scale_decoder_outputs", "tie_word_embeddings"}}

ACTIVATIONS = ("relu", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "silu", "swish", "tanh", "relu2", "mish",
               "leaky_relu", "sigmoid", "linear", "gelu_10", "gelu_python")
PROJECTIONS = ("relu", "gelu", "gated-gelu", "gated-silu", "gated-relu", "silu", "tanh")
ROPES = (
    {"rope_type": "default"}, {"rope_type": "linear", "factor": 3.0}, {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 12},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 20, "beta_fast": 8.0, "beta_slow": 2.0, "attention_factor": 0.7},
    {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 20, "mscale": 0.8, "mscale_all_dim": 0.5, "truncate": False},
    {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0, "original_max_position_embeddings": 16},
    {"rope_type": "longrope", "factor": 2.0, "original_max_position_embeddings": 12, "short_factor": 1.5, "long_factor": 2.5},
    {"rope_type": "default", "partial_rotary_factor": 0.5}, {"rope_type": "default", "rope_theta": 17.0})
CHOICES = {
    "pos_att_type": ([], ["c2p"], ["p2c"], ["c2p", "p2c"], "c2p|p2c", None), "position_embedding_type": ("absolute", "relative_key"),
    "norm_rel_ebd": ("none", "layer_norm"), "conv_act": ("tanh", "gelu", "relu"), "feed_forward_proj": PROJECTIONS,
    "summary_type": ("first", "last"), "hidden_activation": (None, *ACTIVATIONS[:5])}


def rope_of(draw: random.Random, width: int) -> dict:
    """For heads of `width` columns."""
    rope = {"rope_theta": 500.0} | draw.choice(ROPES)
    for name in ("short_factor", "long_factor"):
        if name in rope:
            rope[name] = [round(draw.uniform(1, rope[name]), 2) for _ in range(width // 2)]
    return rope


def head_width(config: dict) -> int:
    return config.get("head_dim") or config.get("hidden_size", 0) // max(config.get("num_attention_heads") or 1, 1)


def changed_number(draw: random.Random, name: str, value: int) -> int:
    if "layers" in name or name == "n_layer":
        return draw.randint(1, 3)
    if "head" in name:
        return draw.choice([1, 2, 3, 4, 6])
    if "token_id" in name or name.endswith("_idx"):
        return draw.randrange(8)
    return draw.choice([value + 1, max(value - 1, 0), 2 * value, max(value // 2, 1), 3 * value, 1, 0])


def changed(draw: random.Random, name: str, value: object, config: dict) -> object:
    """Another value for a field."""
    if name in CHOICES:
        return draw.choice(CHOICES[name])
    if name in ("rope_parameters", "rope_scaling"):
        return rope_of(draw, head_width(config))
    if name == "layer_types":
        return [draw.choice(["full_attention", "sliding_attention"]) for _ in range(config["num_hidden_layers"])]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return changed_number(draw, name, value)
    if isinstance(value, float):
        return draw.choice([0.0, value / 2, value * 3, 0.3, 1.0, 1e-4])
    if isinstance(value, str) and (name.endswith(("_act", "act_fn")) or "activation" in name or name == "afn"):
        return draw.choice(ACTIVATIONS)
    if value is None:
        return draw.choice([1, 2, 3, 5, 8, True, False, 0.5])
    return value


def tokens_of(config: dict) -> int:
    """Columns of the inputs; of images what the sizes make."""
    if "image_size" not in config:
        return 10
    try:
        return max(image_tokens(config), 1)
    except ZeroDivisionError:
        return 1


def random_case(seed: int) -> tuple[Case, list[str]]:
    """A golden case's configuration with one to three other values, and the fields that have them; rows of other lengths."""
    draw = random.Random(seed)
    base = draw.choice(BASES)
    owner = getattr(transformers, base.model).config_class
    whole = owner(**base.config).to_dict()
    without = NOT_COMPUTED | OF_ANOTHER_VERSION.get(base.name, set())
    names = sorted(name for name in whole if name not in without)
    fields = draw.sample(names, draw.choice([1, 1, 2, 3]))
    config = dict(base.config)
    for name in fields:
        config[name] = changed(draw, name, whole[name], whole | config)
    fields = [name for name in fields if config[name] != whole[name]]
    columns = tokens_of(whole | config)
    lengths = tuple(draw.randint(min(3, columns), columns) for _ in range(draw.randint(2, 4))) + (columns,)
    decoder = tuple(draw.randint(1, 9) for _ in lengths[1:]) + (9,)
    sets = [draw.choice([name for name in base.inputs if name in ALL_SETS])]
    form = draw.choice(["5", "5", "4"] if "num_labels" in config else ["5", "5", "4", "short"])
    return dataclasses.replace(base, name=f"config-{seed}", config=config, inputs=tuple(sets), lengths=lengths, decoder_lengths=decoder,
                               config_form=form), fields
