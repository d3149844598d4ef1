"""Works out tests/reference/python/cases.jsonl with the libraries themselves.

    python3 tests/reference/python/make_cases.py > tests/reference/python/cases.jsonl

needs torch, numpy and einops. The cases that are kept come from Debian 12's python3-torch (1.13.1+dfsg-4) and
python3-numpy (1.24.2), and from einops at its commit ccb89f27. A case is an expression that is also a Python program:
bf16[4, 5] and its like become tensors of ones of that shape. Recorded are

- "shape": of the result;
- "parameters": elements of the parameters of its modules;
- "products": the sum of the result where every operand is 1 and every bias 0, so each product adds 1. Convolutions pad with
  ones here, because einflow counts the operations on padding. Of transposed convolutions these are the products that land
  in the output ("landing");
- "error": that the library refuses it, and its words.

What torch 1.13 has under another name or not yet is noted with "by".
"""

import json
import sys

import einops
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

POSITIVE = [
    # einsum: letters, implicit outputs, ellipses, repeated letters, broadcasting, several operands
    ('torch.einsum("mk,kn->mn", bf16[4, 5], bf16[5, 6])', "products"),
    ('torch.einsum("mk,kn", bf16[4, 5], bf16[5, 6])', "products"),
    ('torch.einsum("ki,jk", bf16[4, 5], bf16[3, 4])', "products"),
    ('torch.einsum("bik,bkj->bij", bf16[3, 4, 5], bf16[3, 5, 6])', "products"),
    ('torch.einsum("...mk,...kn->...mn", bf16[2, 1, 4, 5], bf16[3, 5, 6])', "products"),
    ('torch.einsum("...ij,...jk", bf16[7, 4, 5], bf16[5, 6])', "products"),
    ('torch.einsum("...ij->...", bf16[7, 2, 4, 5])', "products"),
    ('torch.einsum("...ij->ij", bf16[7, 2, 4, 5])', "products"),
    ('torch.einsum("ii->", bf16[5, 5])', "products"),
    ('torch.einsum("ii,i->i", bf16[5, 5], bf16[5])', "products"),
    ('torch.einsum("iji,j->i", bf16[3, 4, 3], bf16[4])', "products"),
    ('torch.einsum("i,j->ij", bf16[5], bf16[6])', "products"),
    ('torch.einsum("i,i->", bf16[5], bf16[5])', "products"),
    ('torch.einsum("ij,jk,kl->il", bf16[2, 3], bf16[3, 4], bf16[4, 5])', "products"),
    ('torch.einsum("bn,anm,bm->ba", bf16[2, 5], bf16[3, 5, 4], bf16[2, 4])', "products"),
    ('torch.einsum("ij,ij->ij", bf16[1, 6], bf16[5, 6])', "products"),
    ('torch.einsum("Ab,bA->A", bf16[2, 3], bf16[3, 2])', "products"),
    ('torch.einsum("bA", bf16[2, 3])', ""),
    ('torch.einsum("ij->ji", bf16[2, 3])', ""),
    ('torch.einsum("b h q e, b h t e -> b h q t", bf16[2, 4, 8, 16], bf16[2, 4, 9, 16])', "products"),
    ('np.einsum("ij,jk", bf16[2, 3], bf16[3, 4])', "products"),
    ('np.einsum("ba,ab", bf16[2, 3], bf16[3, 2])', "products"),
    ('np.einsum("...k,k->...", bf16[2, 3, 4], bf16[4])', "products"),
    ('np.einsum("i...,i...->...", bf16[3, 4, 5], bf16[3, 5])', "products"),
    ('np.einsum("ii", bf16[4, 4])', "products"),
    ('np.einsum("iij->j", bf16[4, 4, 5])', "products"),
    ('np.einsum(",i->i", bf16[()], bf16[5])', "products"),
    ('np.einsum("ij,j->i", bf16[2, 1], bf16[5])', "products"),
    ('einops.einsum(bf16[2, 3, 4, 5], bf16[5, 6], "b h w c, c d -> b h w d")', "products"),
    ('einops.einsum(bf16[2, 3], bf16[3, 4], bf16[4], "batch k, k m, m -> batch")', "products"),
    ('einops.reduce(bf16[2, 4, 6, 3], "b h w c -> b c", "sum")', "products"),
    ('einops.reduce(bf16[2, 4, 6, 3], "b (h h2) (w w2) c -> b h w c", "max", h2=2, w2=3)', ""),
    ('einops.reduce(bf16[2, 4, 6, 3], "b h w c -> b () () c", "mean")', ""),
    ('einops.reduce(bf16[2, 4, 6, 3], "... c -> c", "sum")', "products"),
    ('einops.reduce(bf16[2, 4, 6, 3], "b h w c -> (b c) 1", "sum")', "products"),
    ('einops.rearrange(bf16[2, 4, 6, 3], "b h w c -> b c h w")', ""),
    ('einops.rearrange(bf16[2, 12], "b (h e) -> b h e", h=3)', ""),
    # matrix products
    ("torch.matmul(bf16[5], bf16[5])", "products"),
    ("torch.matmul(bf16[4, 5], bf16[5])", "products"),
    ("torch.matmul(bf16[5], bf16[5, 6])", "products"),
    ("torch.matmul(bf16[3, 4, 5], bf16[5])", "products"),
    ("torch.matmul(bf16[5], bf16[3, 5, 6])", "products"),
    ("torch.matmul(bf16[3, 4, 5], bf16[5, 6])", "products"),
    ("torch.matmul(bf16[2, 1, 4, 5], bf16[3, 5, 6])", "products"),
    ("bf16[10, 1, 4, 5] @ bf16[1, 7, 5, 6]", "products"),
    ("bf16[8, 16, 64] @ bf16[8, 32, 64].transpose(-2, -1)", "products"),
    ("bf16[8, 64, 16].mT @ bf16[8, 64, 32]", "products"),
    ("bf16[6, 5].T @ bf16[6, 4]", "products"),
    ("torch.mm(bf16[4, 5], bf16[5, 6])", "products"),
    ("torch.bmm(bf16[3, 4, 5], bf16[3, 5, 6])", "products"),
    ("torch.mv(bf16[4, 5], bf16[5])", "products"),
    ("torch.dot(bf16[5], bf16[5])", "products"),
    ("torch.outer(bf16[4], bf16[5])", "products"),
    ("torch.addmm(bf16[6], bf16[4, 5], bf16[5, 6])", ""),
    ("torch.baddbmm(bf16[1, 4, 6], bf16[3, 4, 5], bf16[3, 5, 6])", ""),
    ("np.dot(bf16[2, 3, 4], bf16[5, 4, 6])", "products"),
    ("np.dot(bf16[2, 3, 4], bf16[4])", "products"),
    ("np.matmul(bf16[2, 3, 4], bf16[4, 5])", "products"),
    ("F.linear(bf16[2, 3, 4], bf16[5, 4])", "products"),
    ("F.linear(bf16[4], bf16[5, 4], bf16[5])", "products"),
    ("F.linear(bf16[3, 4], bf16[4])", "products"),
    ("torch.nn.Linear(4, 8)(bf16[2, 3, 4])", "products"),
    ("nn.Linear(in_features=4, out_features=8, bias=False)(bf16[4])", "products"),
    ("torch.nn.Bilinear(4, 5, 6)(bf16[2, 3, 4], bf16[2, 3, 5])", "products"),
    # convolutions
    ("torch.nn.Conv2d(64, 128, 3, stride=2, padding=1)(bf16[1, 64, 56, 56])", "products"),
    ("nn.Conv2d(3, 8, (3, 5), stride=(2, 1), padding=(4, 2), dilation=(3, 1))(bf16[2, 3, 20, 21])", "products"),
    ("nn.Conv2d(4, 8, 3, 1, 1, 1, 2, False)(bf16[2, 4, 9, 9])", "products"),
    ("nn.Conv2d(6, 6, 3, groups=6)(bf16[1, 6, 10, 11])", "products"),
    ("nn.Conv2d(4, 12, 3, padding=1, groups=4)(bf16[1, 4, 7, 7])", "products"),
    ("nn.Conv2d(3, 8, 3)(bf16[3, 8, 8])", "products"),
    ("nn.Conv2d(3, 8, (3, 4), padding='same')(bf16[1, 3, 8, 8])", "products"),
    ("nn.Conv2d(3, 8, (2, 4), padding='same', dilation=(3, 1))(bf16[1, 3, 9, 9])", "products"),
    ("nn.Conv2d(3, 8, 3, padding='valid', stride=2)(bf16[1, 3, 9, 9])", "products"),
    ("nn.Conv2d(3, 96, 11, stride=4)(bf16[1, 3, 224, 224])", "products"),
    ("nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)(bf16[1, 3, 224, 224])", "products"),
    ("nn.Conv2d(8, 4, 1)(bf16[2, 8, 5, 5])", "products"),
    ("nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2)(bf16[2, 4, 17])", "products"),
    ("nn.Conv1d(4, 6, 3)(bf16[4, 17])", "products"),
    ("nn.Conv3d(2, 4, (1, 2, 3), stride=(1, 2, 3), padding=(0, 1, 2))(bf16[1, 2, 4, 5, 6])", "products"),
    ("F.conv1d(bf16[2, 4, 10], bf16[8, 2, 3], groups=2, padding=1)", "products"),
    ("F.conv2d(bf16[1, 4, 8, 8], bf16[8, 4, 3, 3], bf16[8], stride=2, padding=1)", "products"),
    ("F.conv2d(bf16[1, 4, 8, 8], bf16[8, 4, 3, 3], padding='same')", "products"),
    ("F.conv2d(bf16[4, 8, 8], bf16[8, 1, 3, 3], None, 2, (1, 0), 1, 4)", "products"),
    ("F.conv3d(bf16[1, 2, 5, 6, 7], bf16[3, 2, 2, 3, 2], dilation=(2, 1, 3))", "products"),
    ("nn.ConvTranspose1d(4, 6, 3, stride=2)(bf16[2, 4, 7])", "landing"),
    ("nn.ConvTranspose1d(4, 6, 4, stride=3, padding=1, output_padding=2)(bf16[2, 4, 7])", "landing"),
    ("nn.ConvTranspose2d(4, 8, 3, stride=2, padding=1, output_padding=1)(bf16[1, 4, 5, 5])", "landing"),
    ("nn.ConvTranspose2d(4, 8, (2, 3), stride=(3, 1), padding=(0, 1), dilation=(1, 2))(bf16[2, 4, 5, 6])", "landing"),
    ("nn.ConvTranspose2d(4, 8, 4, 2, 1, groups=2, bias=False)(bf16[1, 4, 6, 6])", "landing"),
    ("nn.ConvTranspose2d(4, 8, 3, stride=2, output_padding=1, dilation=2)(bf16[4, 5, 5])", "landing"),
    ("nn.ConvTranspose3d(2, 3, 2, stride=2)(bf16[1, 2, 3, 4, 5])", "landing"),
    ("F.conv_transpose2d(bf16[1, 4, 5, 5], bf16[4, 3, 3, 3], stride=2, padding=1, groups=2)", "landing"),
    ("F.conv_transpose1d(bf16[1, 4, 5], bf16[4, 3, 3], None, 2, 1, 1)", "landing"),
    # pooling
    ("nn.MaxPool2d(3, stride=2, padding=1)(bf16[1, 64, 112, 112])", ""),
    ("nn.MaxPool2d(2)(bf16[1, 4, 7, 7])", ""),
    ("nn.MaxPool2d(3, 2, ceil_mode=True)(bf16[1, 4, 8, 8])", ""),
    ("nn.MaxPool2d(2, 3, 1, ceil_mode=True)(bf16[1, 4, 8, 9])", ""),
    ("nn.MaxPool2d((3, 2), (2, 1), (1, 0), dilation=(1, 2))(bf16[4, 9, 9])", ""),
    ("nn.MaxPool1d(3, 2)(bf16[2, 4, 11])", ""),
    ("nn.MaxPool3d(2)(bf16[1, 2, 4, 5, 6])", ""),
    ("F.max_pool2d(bf16[1, 2, 9, 9], 3, 2, 1)", ""),
    ("F.max_pool1d(bf16[2, 5], 4, ceil_mode=True)", ""),
    ("nn.AvgPool2d(3, 2, 1)(bf16[1, 4, 9, 9])", ""),
    ("nn.AvgPool2d(3, 2, ceil_mode=True)(bf16[1, 4, 8, 10])", ""),
    ("F.avg_pool2d(bf16[1, 4, 9, 9], (3, 2))", ""),
    ("nn.AdaptiveAvgPool2d(1)(bf16[1, 512, 7, 7])", ""),
    ("nn.AdaptiveAvgPool2d((None, 2))(bf16[1, 5, 7, 8])", ""),
    ("F.adaptive_max_pool2d(bf16[1, 5, 6, 8], (3, 4))", ""),
    # attention
    ("F.scaled_dot_product_attention(bf16[2, 8, 16, 64], bf16[2, 8, 24, 64], bf16[2, 8, 24, 32])", ""),
    ("F.scaled_dot_product_attention(bf16[2, 8, 16, 64], bf16[2, 8, 16, 64], bf16[2, 8, 16, 64], is_causal=True)", ""),
    ("F.scaled_dot_product_attention(bf16[2, 8, 16, 64], bf16[2, 2, 24, 64], bf16[2, 2, 24, 64], enable_gqa=True)", ""),
    ("F.scaled_dot_product_attention(bf16[4, 16, 64], bf16[4, 24, 64], bf16[4, 24, 64])", ""),
    ("F.scaled_dot_product_attention(bf16[2, 8, 16, 64], bf16[2, 8, 24, 64], bf16[2, 8, 24, 64], bf16[16, 24])", ""),
    ("nn.MultiheadAttention(64, 8)(bf16[10, 2, 64], bf16[12, 2, 64], bf16[12, 2, 64])", ""),
    ("nn.MultiheadAttention(64, 8, batch_first=True)(bf16[2, 10, 64], bf16[2, 12, 64], bf16[2, 12, 64])", ""),
    ("nn.MultiheadAttention(64, 4, bias=False, kdim=32, vdim=16)(bf16[10, 2, 64], bf16[12, 2, 32], bf16[12, 2, 16])", ""),
    ("nn.MultiheadAttention(64, 8)(bf16[10, 64], bf16[12, 64], bf16[12, 64])", ""),
    # elementwise, reductions, normalisations, the rest
    ("bf16[2, 1, 4] + bf16[3, 1]", ""),
    ("bf16[4] * bf16[2, 3, 4]", ""),
    ("F.relu(bf16[2, 3]) - 1", ""),
    ("F.gelu(bf16[2, 3, 4])", ""),
    ("torch.exp(bf16[()])", ""),
    ("torch.sum(bf16[2, 3, 4], dim=1)", "products"),
    ("bf16[2, 3, 4].sum(dim=(0, -1), keepdim=True)", "products"),
    ("torch.mean(bf16[2, 3, 4], -1)", ""),
    ("torch.amax(bf16[2, 3, 4], dim=(1, 2))", ""),
    ("np.sum(bf16[2, 3, 4], axis=(0, 2))", "products"),
    ("np.max(bf16[2, 3, 4], axis=1, keepdims=True)", ""),
    ("torch.softmax(bf16[2, 3, 4], dim=1)", ""),
    ("F.log_softmax(bf16[2, 3], dim=-1)", ""),
    ("F.layer_norm(bf16[2, 3, 4], (3, 4))", ""),
    ("nn.LayerNorm(4)(bf16[2, 3, 4])", ""),
    ("nn.LayerNorm((3, 4), elementwise_affine=False)(bf16[2, 3, 4])", ""),
    ("nn.BatchNorm2d(6)(bf16[2, 6, 5, 5])", ""),
    ("nn.BatchNorm1d(6, affine=False)(bf16[2, 6])", ""),
    ("nn.Embedding(100, 16)(int64[2, 7])", ""),
    ("nn.Flatten()(bf16[2, 3, 4, 5])", ""),
    ("bf16[2, 3, 4].reshape(6, -1)", ""),
    ("bf16[2, 3, 4].permute(2, 0, 1)", ""),
    ("nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 10))(bf16[1, 3, 8, 8])", ""),
    ("torch.matmul(torch.randn(4, 5), torch.zeros((5, 6)))", ""),
]

NEGATIVE = [
    'torch.einsum("mk,kn->mn", bf16[4, 5], bf16[6, 6])',
    'torch.einsum("mk,kn->mn", bf16[4, 5])',
    'torch.einsum("mk,kn->mn", bf16[4, 5, 1], bf16[5, 6])',
    'torch.einsum("mk,kn->mz", bf16[4, 5], bf16[5, 6])',
    'torch.einsum("mk,kn->mm", bf16[4, 5], bf16[5, 6])',
    'torch.einsum("ii->i", bf16[4, 5])',
    'torch.einsum("m1,1n->mn", bf16[4, 5], bf16[5, 6])',
    'torch.einsum("..m..", bf16[4, 5])',
    'torch.einsum("......m", bf16[4, 5])',
    'torch.einsum("...m,...n->...mn", bf16[2, 4], bf16[3, 5])',
    'np.einsum("ij,jk->ik->i", bf16[2, 3], bf16[3, 4])',
    'np.einsum("...j->j", bf16[2, 3])',
    'np.einsum("ij", bf16[2])',
    "torch.matmul(bf16[4, 5], bf16[4, 5])",
    "torch.matmul(bf16[2, 4, 5], bf16[3, 5, 6])",
    "torch.matmul(bf16[()], bf16[5])",
    "torch.mm(bf16[2, 4, 5], bf16[5, 6])",
    "torch.bmm(bf16[3, 4, 5], bf16[2, 5, 6])",
    "torch.dot(bf16[4], bf16[5])",
    "torch.addmm(bf16[7], bf16[4, 5], bf16[5, 6])",
    "F.linear(bf16[2, 3], bf16[5, 4])",
    "nn.Linear(4, 8)(bf16[2, 5])",
    "nn.Linear(4)(bf16[2, 4])",
    "nn.Linear(4, 8, biass=True)(bf16[2, 4])",
    "nn.Conv2d(3, 8, 3)(bf16[1, 4, 8, 8])",
    "nn.Conv2d(3, 8, 3, groups=2)(bf16[1, 3, 8, 8])",
    "nn.Conv2d(4, 7, 3, groups=2)(bf16[1, 4, 8, 8])",
    "nn.Conv2d(3, 8, 9)(bf16[1, 3, 8, 8])",
    "nn.Conv2d(3, 8, 3)(bf16[8, 8])",
    "nn.Conv2d(3, 8, 3, stride=0)(bf16[1, 3, 8, 8])",
    "nn.Conv2d(3, 8, 3, padding=-1)(bf16[1, 3, 8, 8])",
    "nn.Conv2d(3, 8, 3, padding='same', stride=2)(bf16[1, 3, 8, 8])",
    "nn.Conv2d(3, 8, 3, padding='full')(bf16[1, 3, 8, 8])",
    "nn.Conv2d(3, 8, (3, 3, 3))(bf16[1, 3, 8, 8])",
    "F.conv2d(bf16[1, 4, 8, 8], bf16[8, 4, 3, 3], bf16[7])",
    "nn.ConvTranspose2d(4, 8, 3, stride=2, output_padding=2)(bf16[1, 4, 5, 5])",
    "nn.ConvTranspose2d(4, 8, 1, padding=3)(bf16[1, 4, 5, 5])",
    "nn.ConvTranspose2d(4, 8, 3)(bf16[1, 3, 5, 5])",
    "nn.MaxPool2d(2, padding=2)(bf16[1, 4, 8, 8])",
    "nn.MaxPool2d(9)(bf16[1, 4, 8, 8])",
    "F.scaled_dot_product_attention(bf16[2, 8, 16, 64], bf16[2, 8, 24, 32], bf16[2, 8, 24, 32])",
    "nn.MultiheadAttention(64, 7)(bf16[10, 2, 64], bf16[10, 2, 64], bf16[10, 2, 64])",
    "nn.MultiheadAttention(64, 8)(bf16[10, 2, 32], bf16[10, 2, 32], bf16[10, 2, 32])",
    "bf16[2, 3] + bf16[2, 4]",
    "torch.sum(bf16[2, 3], dim=2)",
    "torch.softmax(bf16[2, 3], dim=-3)",
    "F.layer_norm(bf16[2, 3, 4], (2, 4))",
    "nn.BatchNorm2d(6)(bf16[2, 5, 5, 5])",
    "bf16[2, 3, 4].reshape(5, -1)",
    "bf16[2, 3].permute(0, 0)",
    'einops.reduce(bf16[2, 5], "b (h h2) -> b h", "sum", h2=2)',
    'einops.rearrange(bf16[2, 5], "b h -> b")',
    'einops.einsum(bf16[2, 5], bf16[4, 3], "b c, c d -> b d")',
]

NOT_IN_TORCH_1_13 = "torch 1.13's F._scaled_dot_product_attention; enable_gqa by repeat_interleave, as torch 2.5 documents it"


class Shapes:
    """bf16[4, 5] is a tensor of ones; numpy's functions get an array."""

    def __init__(self, dtype=torch.float64):
        self.dtype = dtype
        self.numpy = False

    def __getitem__(self, shape):
        shape = shape if isinstance(shape, tuple) else (shape,)
        return np.ones(shape) if self.numpy else torch.ones(shape, dtype=self.dtype)


def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        repeats = query.size(-3) // key.size(-3)
        key, value = key.repeat_interleave(repeats, -3), value.repeat_interleave(repeats, -3)
    return F._scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, False, is_causal)[0]


def with_ones_around(convolution, axes):
    """The convolution of an input that is padded with ones, without a bias."""

    def convolve(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        convolution(input, weight, bias, stride, padding, dilation, groups)  # raises what is to be raised
        kernel = weight.shape[2:]
        dilations = dilation if isinstance(dilation, tuple) else (dilation,) * axes
        before = padding if isinstance(padding, tuple) else (padding,) * axes
        after = before
        if padding in ("same", ("same",)):
            totals = [d * (k - 1) for d, k in zip(dilations, kernel)]
            before = [total // 2 for total in totals]
            after = [total - b for total, b in zip(totals, before)]
        elif padding == "valid":
            before = after = (0,) * axes
        around = [size for b, a in zip(reversed(before), reversed(after)) for size in (b, a)]
        return convolution(F.pad(input, around, value=1.0), weight, None, stride, 0, dilation, groups)

    return convolve


def without_bias(function):
    return lambda input, weight, bias=None, *more, **named: function(input, weight, None, *more, **named)


parameters = {}


def initialised(module, *_):
    """Weights of ones and biases of zeros."""
    module.double().eval()
    for name, parameter in module.named_parameters():
        parameters[id(parameter)] = parameter.numel()
        torch.nn.init.constant_(parameter, 0.0 if "bias" in name else 1.0)


def run(text, wanted):
    numpy = text.startswith("np.")
    types = {name: Shapes() for name in ("bf16", "f32")}
    types["int64"] = Shapes(torch.int64)
    for shapes in types.values():
        shapes.numpy = numpy
    parameters.clear()
    result = eval(text, {"torch": torch, "nn": nn, "F": F, "np": np, "einops": einops, **types})
    if isinstance(result, tuple):
        result = result[0]
    case = {"text": text, "shape": list(result.shape), "by": "einops" if text.startswith("einops") else
            "numpy" if numpy else "torch"}
    if "scaled_dot_product_attention" in text:
        case["by"] = NOT_IN_TORCH_1_13
    if parameters:
        case["parameters"] = sum(parameters.values())
    if wanted:
        case[wanted] = int(round(float(result.sum())))
    return case


def main():
    original_call = torch.nn.Module.__call__

    def call(module, *arguments, **named):
        initialised(module)
        return original_call(module, *arguments, **named)

    torch.nn.Module.__call__ = call
    F.scaled_dot_product_attention = sdpa
    for axes in (1, 2, 3):
        name = f"conv{axes}d"
        setattr(F, name, with_ones_around(getattr(torch, name), axes))
        setattr(F, f"conv_transpose{axes}d", without_bias(getattr(torch, f"conv_transpose{axes}d")))
    linear = F.linear
    F.linear = without_bias(linear)
    print(json.dumps({"libraries": {"torch": torch.__version__, "numpy": np.__version__,
                                    "einops": einops.__version__}}))
    for text, wanted in POSITIVE:
        try:
            print(json.dumps(run(text, wanted)))
        except Exception as wrong:
            sys.exit(f"{text}: {wrong}")
    F.linear = linear
    for axes in (1, 2, 3):
        for name in (f"conv{axes}d", f"conv_transpose{axes}d"):
            setattr(F, name, getattr(torch, name))
    for text in NEGATIVE:
        try:
            case = run(text, "")
        except Exception as wrong:
            print(json.dumps({"text": text, "error": " ".join(str(wrong).split())[:200]}))
        else:
            sys.exit(f"{text} is accepted: {case}")


if __name__ == "__main__":
    main()
