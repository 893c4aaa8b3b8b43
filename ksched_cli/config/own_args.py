"""Arguments of plugins that declare a model (`args_model`), checked against the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec

from ksched_cli.api.conversion import Mistake, path_text, problems_in
from ksched_cli.errors import ConfigError, Problem

# Fields that the arguments of any plugin may have.
_IDENTITY = ("apiVersion", "kind")


def is_model(model: Any) -> bool:
    """Whether it is None, a dataclass or a Struct."""
    return model is None or (isinstance(model, type) and (is_dataclass(model) or issubclass(model, msgspec.Struct)))


def own_args(model: type[Any], given: Mapping[str, Any]) -> tuple[Any, list[Mistake]]:
    """The typed arguments and all their mistakes. A field that the model lacks is a mistake for every model."""
    known = _fields(model)
    unknown: list[Mistake] = [
        ((key,), f"no such field; there are {', '.join(known) or 'none'}")
        for key in given
        if key not in known and key not in _IDENTITY
    ]
    named = {key: value for key, value in given.items() if key in known}
    try:
        args, mistakes = problems_in(named, model)
    except Exception as problem:
        # A model may check more than types; msgspec converts ValueError and TypeError of the model, and no others.
        args, mistakes = None, [((), f"{type(problem).__name__}: {problem}")]
    _spell_out(args)
    # A field that was given and is mistaken was taken out to look at the others, and is not missing.
    given_and_missing = {f"object missing required field `{key}`" for key in named}
    return args, unknown + [(path, text) for path, text in mistakes if text not in given_and_missing]


def _spell_out(args: Any) -> None:
    """Set the defaults of a dataclass on the instance: msgspec leaves them to the class, where printing misses them."""
    if is_dataclass(args) and not isinstance(args, type):
        for each in fields(args):
            value = getattr(args, each.name)
            object.__setattr__(args, each.name, value)
            _spell_out(value)


def default_args(name: str, model: type[Any]) -> Any:
    """The arguments of the plugin when the configuration has none."""
    args, mistakes = own_args(model, {})
    if mistakes:
        raise ConfigError(Problem(needs_arguments(name, mistakes), hint="give it a pluginConfig"))
    return args


def needs_arguments(name: str, mistakes: list[Mistake]) -> str:
    texts = "; ".join(f"{path_text(path)}: {text}" if path else text for path, text in mistakes)
    return f'plugin "{name}" cannot do without arguments: {texts}'


def _fields(model: type[Any]) -> tuple[str, ...]:
    described = msgspec.inspect.type_info(model)
    assert isinstance(described, msgspec.inspect.StructType | msgspec.inspect.DataclassType)
    return tuple(field.encode_name for field in described.fields)
