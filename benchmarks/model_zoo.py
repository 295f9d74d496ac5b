"""Small unmodified models of many kinds, with configurations in code and random weights.

Models of transformers are made by class name, models of torchvision and timm by function name; some
networks are written here. Downloads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

Made = tuple[nn.Module, dict[str, Any]]
Make = Callable[[], Made]

TOKENS, VOCABULARY, PIXELS = 16, 96, 32
_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_GROUPED = {**_SIZES, "num_key_value_heads": 2}
_ENCODER_DECODER = {
    "vocab_size": VOCABULARY,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 96,
    "decoder_ffn_dim": 96,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": None,
}
_VISION = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": PIXELS,
    "patch_size": 8,
}


def _ids() -> Tensor:
    return torch.randint(3, VOCABULARY, (2, TOKENS))


def _of(name: str, config: dict[str, Any], arguments: dict[str, Callable[[], Any]]) -> Make:
    """Make a class of transformers with its configuration."""

    def make() -> Made:
        import transformers

        kind = getattr(transformers, name)
        made = kind(kind.config_class(**config))
        return made, {key: value() for key, value in arguments.items()}

    return make


def _text(name: str, **others: Any) -> Make:
    return _of(name, {**_SIZES, **others}, {"input_ids": _ids})


def _decoder(name: str, **others: Any) -> Make:
    arguments: dict[str, Callable[[], Any]] = {"input_ids": _ids, "use_cache": lambda: False}
    return _of(name, {**_GROUPED, **others}, arguments)


def _pair(name: str, config: dict[str, Any]) -> Make:
    arguments: dict[str, Callable[[], Any]] = {
        "input_ids": _ids,
        "decoder_input_ids": _ids,
        "use_cache": lambda: False,
    }
    return _of(name, config, arguments)


def _image(name: str, **config: Any) -> Make:
    pixels = config.pop("pixels", PIXELS)
    return _of(name, config, {"pixel_values": lambda: torch.randn(2, 3, pixels, pixels)})


def _sound(name: str, **config: Any) -> Make:
    return _of(name, config, {"input_values": lambda: torch.randn(1, 800)})


def _written(kind: Callable[[], nn.Module], pixels: int = PIXELS) -> Make:
    return lambda: (kind(), {"x": torch.randn(2, 3, pixels, pixels)})


_NAMES_OF_TORCHVISION: list[torch.library.Library] = []  # keeps the registrations alive


def prepare_torchvision() -> None:
    """Make a torchvision that was built for CUDA importable without CUDA.

    Its compiled operations cannot be loaded, but its shape functions need their names. transformers
    imports torchvision, too, so call this first.
    """
    if find_spec("torchvision") is None or _NAMES_OF_TORCHVISION:
        return
    try:
        import_module("torchvision")
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _NAMES_OF_TORCHVISION.append(library)


def _of_torchvision(name: str) -> Make:
    """Make a model of torchvision, in eval mode, which uses none of its own operations."""

    def make() -> Made:
        model = getattr(import_module("torchvision.models"), name)(num_classes=10)
        return model, {"x": torch.randn(2, 3, PIXELS, PIXELS)}

    return make


def _of_timm(name: str, pixels: int = PIXELS, **options: Any) -> Make:
    def make() -> Made:
        model = import_module("timm").create_model(name, num_classes=10, **options)
        return model, {"x": torch.randn(2, 3, pixels, pixels)}

    return make


# Own networks -------------------------------------------------------------------------------------


def _convolved(given: int, wanted: int, size: int = 3, step: int = 1, groups: int = 1) -> Any:
    return nn.Sequential(
        nn.Conv2d(given, wanted, size, step, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(wanted),
        nn.ReLU6(),
    )


class Bottleneck(nn.Module):
    """Block of ResNet-50."""

    def __init__(self, given: int, inner: int, step: int):
        super().__init__()
        wanted = 4 * inner
        self.body = nn.Sequential(
            _convolved(given, inner, 1),
            _convolved(inner, inner, 3, step),
            nn.Conv2d(inner, wanted, 1, bias=False),
            nn.BatchNorm2d(wanted),
        )
        self.past = nn.Conv2d(given, wanted, 1, step, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return (self.body(x) + self.past(x)).relu()


class ResNet50(nn.Module):
    """ResNet-50 with a quarter of the channels."""

    def __init__(self) -> None:
        super().__init__()
        blocks, given = [], 16
        for inner, count, step in ((16, 3, 1), (32, 4, 2), (64, 6, 2), (128, 3, 2)):
            for position in range(count):
                blocks.append(Bottleneck(given, inner, step if position == 0 else 1))
                given = 4 * inner
        self.stem = nn.Sequential(_convolved(3, 16, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.body, self.head = nn.Sequential(*blocks), nn.Linear(given, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.stem(x)).mean((2, 3)))


def vgg() -> nn.Module:
    layers: list[nn.Module] = []
    given = 3
    for wanted in (16, 0, 32, 0, 64, 64, 0):
        layers += [nn.Conv2d(given, wanted, 3, padding=1), nn.ReLU()] if wanted else []
        layers += [] if wanted else [nn.MaxPool2d(2)]
        given = wanted or given
    tail = [nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(9 * given, 64), nn.Dropout()]
    return _Named(nn.Sequential(*layers, *tail, nn.Linear(64, 10)))


class _Named(nn.Module):
    def __init__(self, body: nn.Module):
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.body(x)
        return found


class DenseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        widths = range(16, 16 + 4 * 12, 12)
        self.layers = nn.ModuleList(_convolved(width, 12) for width in widths)
        self.head = nn.Sequential(
            nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        found: Tensor = self.head(x)
        return found


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle = _convolved(3, 16), _convolved(16, 32)
        self.up = nn.ConvTranspose2d(32, 16, 2, 2)
        self.last = nn.Sequential(_convolved(32, 16), nn.Conv2d(16, 2, 1))

    def forward(self, x: Tensor) -> Tensor:
        first = self.down(x)
        middle = self.middle(nn.functional.max_pool2d(first, 2))
        found: Tensor = self.last(torch.cat([first, self.up(middle)], 1))
        return found


class ShuffleNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.mix = _convolved(3, 24, 3, 2), _convolved(24, 24, 1, groups=3)
        self.spread = _convolved(24, 24, 3, groups=24)
        self.head = nn.Linear(24, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.channel_shuffle(self.mix(self.stem(x)), 3)
        return self.head(self.spread(x).mean((2, 3)))


class Generator(nn.Module):
    """Generator of a DCGAN: makes an image from the first numbers of the input image."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.ConvTranspose2d(32, 32, 4, 1, 0),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 4, 2, 1),
            nn.InstanceNorm2d(16),
            nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(16, 3, 4, 2, 1),
            nn.Tanh(),
        )

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.body(x.flatten(1)[:, :32, None, None])
        return found


class Recurrent(nn.Module):
    """Runs an LSTM and a GRU on the rows of an image as a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(PIXELS, 24, batch_first=True)
        self.gru = nn.GRU(24, 16, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.gru(self.lstm(x[:, 0])[0])[0]
        return found


# Rows ---------------------------------------------------------------------------------------------

_GPT2 = {
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
    "vocab_size": VOCABULARY,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_STAGES = {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 1, 2, 1]}
_CONV = {"conv_dim": [16, 16, 16], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3]}
_HEARD = {
    **{
        name: _SIZES[name]
        for name in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    },
    **_CONV,
    "vocab_size": 32,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "num_feat_extract_layers": 3,
}

ROWS: dict[str, Make] = {
    # language models
    "gpt2": _of("GPT2LMHeadModel", _GPT2, {"input_ids": _ids, "use_cache": lambda: False}),
    "gpt-neo": _decoder(
        "GPTNeoForCausalLM",
        num_layers=2,
        num_heads=4,
        intermediate_size=96,
        attention_types=[[["global", "local"], 1]],
    ),
    "gpt-neox": _decoder("GPTNeoXForCausalLM"),
    "gpt-j": _decoder(
        "GPTJForCausalLM", n_embd=64, n_layer=2, n_head=4, rotary_dim=8, n_positions=64
    ),
    "bloom": _decoder("BloomForCausalLM", n_layer=2, n_head=4),
    "opt": _decoder("OPTForCausalLM", ffn_dim=96, word_embed_proj_dim=64),
    "llama": _decoder("LlamaForCausalLM"),
    "mistral": _decoder("MistralForCausalLM", sliding_window=8),
    "mixtral": _decoder("MixtralForCausalLM", num_local_experts=4),
    "qwen2": _decoder("Qwen2ForCausalLM"),
    "qwen3": _decoder("Qwen3ForCausalLM", head_dim=16),
    "gemma": _decoder("GemmaForCausalLM", head_dim=16),
    "gemma2": _decoder("Gemma2ForCausalLM", head_dim=16, sliding_window=8),
    "phi": _decoder("PhiForCausalLM"),
    "phi3": _decoder("Phi3ForCausalLM"),
    "falcon": _decoder("FalconForCausalLM", multi_query=True),
    "stablelm": _decoder("StableLmForCausalLM"),
    "olmo2": _decoder("Olmo2ForCausalLM"),
    "cohere": _decoder("CohereForCausalLM"),
    "granite": _decoder("GraniteForCausalLM"),
    "starcoder2": _decoder("Starcoder2ForCausalLM"),
    "mamba": _decoder("MambaForCausalLM", state_size=8),
    # text in, numbers out
    "bert": _text("BertForMaskedLM"),
    "roberta": _text("RobertaForMaskedLM", max_position_embeddings=80),
    "distilbert": _text("DistilBertForMaskedLM", dim=64, n_layers=2, n_heads=4, hidden_dim=96),
    "albert": _text("AlbertForMaskedLM", embedding_size=32),
    "electra": _text("ElectraForMaskedLM", embedding_size=32),
    "mpnet": _text("MPNetForMaskedLM"),
    "deberta-v2": _text(
        "DebertaV2ForMaskedLM", relative_attention=True, pos_att_type=["p2c", "c2p"]
    ),
    "xlnet": _of(
        "XLNetLMHeadModel",
        {"vocab_size": VOCABULARY, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 96},
        {"input_ids": _ids},
    ),
    "clip-text": _text("CLIPTextModel", projection_dim=32),
    # text in, text out
    "t5": _pair(
        "T5ForConditionalGeneration",
        {
            "vocab_size": VOCABULARY,
            "d_model": 64,
            "d_kv": 16,
            "d_ff": 96,
            "num_layers": 2,
            "num_heads": 4,
        },
    ),
    "bart": _pair("BartForConditionalGeneration", _ENCODER_DECODER),
    "pegasus": _pair("PegasusForConditionalGeneration", _ENCODER_DECODER),
    "marian": _pair("MarianMTModel", _ENCODER_DECODER),
    "m2m100": _pair("M2M100ForConditionalGeneration", _ENCODER_DECODER),
    # sound
    "whisper": _of(
        "WhisperForConditionalGeneration",
        {
            **_ENCODER_DECODER,
            "num_mel_bins": 16,
            "max_source_positions": 32,
            "max_target_positions": 64,
            "suppress_tokens": None,
            "begin_suppress_tokens": None,
        },
        {
            "input_features": lambda: torch.randn(2, 16, 64),
            "decoder_input_ids": _ids,
            "use_cache": lambda: False,
        },
    ),
    "wav2vec2": _sound("Wav2Vec2ForCTC", **_HEARD),
    "hubert": _sound("HubertForCTC", **_HEARD),
    # images
    "vit": _image("ViTForImageClassification", **_VISION),
    "deit": _image("DeiTForImageClassification", **_VISION),
    "beit": _image("BeitForImageClassification", **_VISION),
    "dinov2": _image("Dinov2ForImageClassification", **_VISION),
    "clip-vision": _image("CLIPVisionModel", **_VISION),
    "siglip-vision": _image("SiglipVisionModel", **_VISION),
    "swin": _image(
        "SwinForImageClassification",
        image_size=PIXELS,
        patch_size=2,
        embed_dim=16,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=4,
    ),
    "swinv2": _image(
        "Swinv2ForImageClassification",
        image_size=PIXELS,
        patch_size=2,
        embed_dim=16,
        depths=[2, 2],
        num_heads=[2, 4],
        window_size=4,
    ),
    "convnext": _image("ConvNextForImageClassification", **_STAGES),
    "convnextv2": _image("ConvNextV2ForImageClassification", **_STAGES),
    "resnet18": _image(
        "ResNetForImageClassification", embedding_size=16, layer_type="basic", **_STAGES
    ),
    "regnet": _image("RegNetForImageClassification", embedding_size=16, groups_width=8, **_STAGES),
    "mobilenetv1": _image("MobileNetV1ForImageClassification", depth_multiplier=0.25),
    "mobilenetv2": _image("MobileNetV2ForImageClassification", depth_multiplier=0.35),
    "efficientnet": _image(
        "EfficientNetForImageClassification",
        width_coefficient=0.25,
        depth_coefficient=0.25,
        hidden_dim=320,
    ),
    "mobilevit": _image(
        "MobileViTForImageClassification",
        image_size=PIXELS,
        hidden_sizes=[24, 24, 24],
        neck_hidden_sizes=[8, 8, 16, 16, 16, 16, 32],
        num_attention_heads=2,
        pixels=64,
    ),
    "segformer": _image(
        "SegformerForSemanticSegmentation",
        pixels=64,
        hidden_sizes=[8, 16, 24, 32],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 1, 2, 2],
        decoder_hidden_size=16,
    ),
    "poolformer": _image(
        "PoolFormerForImageClassification", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1]
    ),
    "cvt": _image(
        "CvtForImageClassification",
        embed_dim=[8, 16, 32],
        num_heads=[1, 2, 2],
        depth=[1, 2, 3],
        pixels=64,
    ),
    "levit": _image(
        "LevitForImageClassification",
        image_size=PIXELS,
        hidden_sizes=[16, 24, 32],
        num_attention_heads=[2, 3, 4],
        depths=[1, 1, 1],
        key_dim=[8, 8, 8],
    ),
    "bit": _image(
        "BitForImageClassification",
        embedding_size=32,
        layer_type="bottleneck",
        hidden_sizes=[128, 256],
        depths=[1, 1],
    ),
    # of torchvision
    "tv-resnet18": _of_torchvision("resnet18"),
    "tv-mobilenetv3": _of_torchvision("mobilenet_v3_small"),
    "tv-shufflenetv2": _of_torchvision("shufflenet_v2_x0_5"),
    "tv-squeezenet": _of_torchvision("squeezenet1_1"),
    "tv-mnasnet": _of_torchvision("mnasnet0_5"),
    "tv-regnet": _of_torchvision("regnet_y_400mf"),
    # of timm
    "timm-vit": _of_timm("vit_tiny_patch16_224", img_size=PIXELS, patch_size=8, depth=2),
    "timm-mixer": _of_timm("mixer_s32_224", pixels=64, img_size=64),
    "timm-resnet": _of_timm("resnet10t"),
    "timm-convnext": _of_timm("convnext_atto", depths=(1, 1, 2, 1)),
    "timm-mobilenetv3": _of_timm("mobilenetv3_small_050"),
    "timm-efficientnet": _of_timm("efficientnet_lite0"),
    "timm-ghostnet": _of_timm("ghostnet_050"),
    # written here
    "resnet50": _written(ResNet50),
    "vgg": _written(vgg),
    "densenet": _written(DenseNet),
    "unet": _written(UNet),
    "shufflenet": _written(ShuffleNet),
    "dcgan": _written(Generator),
    "lstm-gru": _written(Recurrent),
}
