"""A network that predicts mean and variance of the depth of every pixel."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import EfficientNetConfig, EfficientNetModel
from transformers.models.efficientnet.modeling_efficientnet import round_filters

from betanll.objectives import heads
from betanll.torch import at_least_float32, full_precision
from betanll_paper.depth.pretrained import load_encoder

#: In metres; 10 is the range of the NYUv2 sensor.
MIN_DEPTH = 1e-3
MAX_DEPTH = 10.0
#: In square metres.
MIN_VARIANCE = 1e-6
MAX_VARIANCE = 10.0

# An output of zero gives a depth of one metre and a variance of one.
_DEPTH_OFFSET = heads.inverse_softplus(1 - MIN_DEPTH)
_VARIANCE_OFFSET = heads.inverse_softplus(1 - MIN_VARIANCE)

#: PyTorch's default.
_BATCH_NORM_MOMENTUM = 0.1


class DepthNet(nn.Module):
    r"""EfficientNet with a decoder that joins its features of every resolution.

    .. math:: \mu = \min\left( \mathrm{softplus}(z_1 + c_1) + 10^{-3},\; 10 \right),
        \qquad v = \min\left( \mathrm{softplus}(z_2 + c_2) + 10^{-6},\; 10 \right)

    Depth is in metres. The offsets make mean and variance 1 where the outputs z are 0.
    The decoder doubles the resolution four times, and each time joins the encoder's
    features of this resolution.

    Parameters
    ----------
    config : transformers.EfficientNetConfig, optional
        Encoder, with random weights; :func:`small_efficientnet` by default. For trained
        weights, use :meth:`pretrained`.
    has_variance : bool, default=True
        Predict a variance; otherwise there is one output per pixel.

    Notes
    -----
    Under autocast the last convolution and the head are computed in float32, as in
    :class:`betanll.torch.GaussianHead`.

    References
    ----------
    Encoder and decoder of Bhat, Alhashim, Wonka: AdaBins. CVPR 2021, arXiv:2011.14141.

    Examples
    --------
    >>> import torch
    >>> mean, variance = DepthNet()(torch.zeros(2, 3, 96, 128))
    >>> mean.shape, variance.shape
    (torch.Size([2, 1, 48, 64]), torch.Size([2, 1, 48, 64]))
    """

    def __init__(
        self, config: EfficientNetConfig | None = None, *, has_variance: bool = True
    ) -> None:
        super().__init__()
        config = small_efficientnet() if config is None else config
        features = config.hidden_dim
        if features != round_filters(config, 1280):
            raise ValueError(
                f"hidden_dim of the encoder must be {round_filters(config, 1280)} for "
                f"this width_coefficient and depth_divisor, got {features}"
            )
        self.has_variance = has_variance
        self.encoder = _initial_encoder(config)
        skips = _before_halvings(self.encoder)
        if not skips:
            raise ValueError("strides of the encoder must have a 2, got none")
        self._skips = [index for index, _ in skips]
        self.bridge = nn.Conv2d(features, features, 1, padding=1)
        self.up_blocks = nn.ModuleList()
        for _, channels in reversed(skips):
            self.up_blocks.append(_UpBlock(features, channels, features // 2))
            features //= 2
        self.smooth = nn.Conv2d(features, features, 3, padding=1)
        self.output = nn.Conv2d(features, 2 if has_variance else 1, 1)

    @classmethod
    def pretrained(
        cls,
        source: str | Path = "google/efficientnet-b5",
        *,
        has_variance: bool = True,
    ) -> DepthNet:
        """Return a network with a trained encoder and a random decoder.

        Parameters
        ----------
        source : str or Path, default="google/efficientnet-b5"
            A folder with ``config.json`` and ``model.safetensors``, or else the name of
            a model on the Hugging Face hub. A folder is read without any download. The
            encoder must expect images normalised by ImageNet's statistics.
        has_variance : bool, default=True

        Raises
        ------
        OSError
            If the weights are missing or cannot be downloaded.
        ValueError
            If the weights cannot be read or do not fit the configuration.

        Notes
        -----
        The weights of the paper were trained with adversarial examples
        (``tf_efficientnet_b5_ap``); the default weights are not.
        """
        trained = load_encoder(source)
        network = cls(trained.config, has_variance=has_variance)
        network.encoder.load_state_dict(trained.state_dict())
        return network

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return mean and variance, at half the resolution of the image.

        Parameters
        ----------
        image : tensor of shape (batch, 3, height, width)
            Normalised by ImageNet's statistics. Sides are best multiples of 32.

        Returns
        -------
        mean : tensor of shape (batch, 1, height / 2, width / 2)
        variance : tensor of the same shape, or None
        """
        smallest = 2 << len(self._skips)
        if image.ndim != 4 or min(image.shape[2:]) < smallest:
            raise ValueError(
                "image must have shape (batch, channels, height, width) with sides of "
                f"at least {smallest}, got {tuple(image.shape)}"
            )
        encoded = self.encoder.encoder(
            self.encoder.embeddings(image), output_hidden_states=True, return_dict=True
        )
        features = self.bridge(encoded.last_hidden_state)
        for block, skip in zip(self.up_blocks, reversed(self._skips), strict=True):
            features = block(features, encoded.hidden_states[skip])
        features = self.smooth(features)
        dtype = torch.promote_types(features.dtype, self.output.weight.dtype)
        with full_precision(features.device.type):
            z = at_least_float32(self.output(features.to(dtype)))
        mean = heads.bounded_softplus(
            z[:, :1], offset=_DEPTH_OFFSET, floor=MIN_DEPTH, ceiling=MAX_DEPTH
        )
        if not self.has_variance:
            return mean, None
        return mean, heads.bounded_softplus(
            z[:, 1:],
            offset=_VARIANCE_OFFSET,
            floor=MIN_VARIANCE,
            ceiling=MAX_VARIANCE,
        )


class _UpBlock(nn.Module):
    """Joins features with an encoder's, at the resolution of the encoder's."""

    def __init__(self, features: int, skip: int, out: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            *_convolution(features + skip, out), *_convolution(out, out)
        )

    def forward(self, features: Tensor, skip: Tensor) -> Tensor:
        features = nn.functional.interpolate(
            features, size=skip.shape[2:], mode="bilinear", align_corners=True
        )
        joined: Tensor = self.convolutions(torch.cat([features, skip], dim=1))
        return joined


def _convolution(features: int, out: int) -> list[nn.Module]:
    # The normalisation has a bias.
    return [
        nn.Conv2d(features, out, 3, padding=1, bias=False),
        nn.BatchNorm2d(out),
        nn.LeakyReLU(0.01),
    ]


def efficientnet_b5() -> EfficientNetConfig:
    """Return the paper's encoder, with 28 million parameters."""
    return _scaled(width=1.6, depth=2.2)


def small_efficientnet() -> EfficientNetConfig:
    """Return a small encoder, to train from scratch without a GPU."""
    return _scaled(width=0.25, depth=0.5)


def _scaled(width: float, depth: float) -> EfficientNetConfig:
    config = EfficientNetConfig(
        width_coefficient=width,
        depth_coefficient=depth,
        # Bhat et al. (2021) use no dropout.
        drop_connect_rate=0.0,
    )
    config.hidden_dim = round_filters(config, 1280)
    return config


def _before_halvings(encoder: Any) -> list[tuple[int, int]]:
    """Return index and channels of hidden states before blocks of stride 2."""
    found = []
    channels = encoder.embeddings.out_dim
    for index, block in enumerate(encoder.encoder.blocks):
        if block.depthwise_conv.stride == 2:
            found.append((index, channels))
        channels = block.projection.project_conv.out_channels
    return found


def _initial_encoder(config: EfficientNetConfig) -> Any:
    """Return an encoder initialised for training, which transformers does not do.

    In transformers all weights, also of the normalisation, have a standard deviation
    of 0.02, which lets nothing of the image through to the last block. Its momentum of
    0.99 follows TensorFlow, where it is the share of the old running statistics; in
    PyTorch it is the share of the last batch.
    """
    encoder = EfficientNetModel(config)
    del encoder.pooler
    for module in encoder.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = _BATCH_NORM_MOMENTUM
            module.reset_parameters()
        elif isinstance(module, nn.Conv2d):
            fan_out = module.weight[:, 0].numel() / module.groups
            nn.init.normal_(module.weight, std=math.sqrt(2 / fan_out))
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return encoder
