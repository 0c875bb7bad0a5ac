"""Imports the files of an agents folder, without putting the folder on sys.path.

Each load gives the folder a package name of its own, so that two folders, or two loads of one, share no module. Files
import their siblings as `from ._helper import x`, or plainly as `from _helper import x`; the plain form finds
installed modules first, and where several folders were loaded, the siblings of the last one.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

_numbers = itertools.count(1)


def open_folder(folder: Path) -> str:
    """Make a folder importable, and give the name of its package for `import_from`. Nothing in it is run yet."""
    package = f"steersman_agents_{next(_numbers)}"
    module = ModuleType(package, f"The agents of {folder}.")
    module.__path__ = []  # only _FolderFinder finds what is in it
    sys.modules[package] = module
    for finder in [finder for finder in sys.meta_path if isinstance(finder, _FolderFinder)]:
        finder.forget_plain_names()
    sys.meta_path.append(_FolderFinder(package, folder.resolve()))
    return package


def import_from(package: str, name: str) -> ModuleType:
    """Import one file of an opened folder. Raises whatever running it raises."""
    return importlib.import_module(f"{package}.{name}")


class _FolderFinder(MetaPathFinder):
    """Finds the modules of one folder under its package's name, and under their plain names while it is the last."""

    def __init__(self, package: str, folder: Path) -> None:
        self._package = package
        self._folder = folder
        self._plain = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.startswith(f"{self._package}."):
            return self._spec(fullname, fullname.removeprefix(f"{self._package}."))
        if self._plain and self._spec(fullname, fullname) is not None:
            return ModuleSpec(fullname, _Alias(f"{self._package}.{fullname}"))
        return None

    def forget_plain_names(self) -> None:
        """Another folder was opened: from now on plain names mean its files."""
        self._plain = False
        aliases = [name for name, module in list(sys.modules.items()) if self._owns(name, module)]
        for name in aliases:
            del sys.modules[name]

    def _owns(self, name: str, module: ModuleType) -> bool:
        own = getattr(module, "__name__", "")
        return isinstance(own, str) and own.startswith(f"{self._package}.") and name != own

    def _spec(self, fullname: str, relative: str) -> ModuleSpec | None:
        place = self._folder.joinpath(*relative.split("."))
        inner = place / "__init__.py"
        if inner.is_file():
            loader = _FreshLoader(fullname, str(inner))
            return spec_from_file_location(fullname, inner, loader=loader, submodule_search_locations=[])
        file = place.parent / f"{place.name}.py"
        return (
            spec_from_file_location(fullname, file, loader=_FreshLoader(fullname, str(file)))
            if file.is_file()
            else None
        )


class _FreshLoader(SourceFileLoader):
    """Compiles the source as it is now: a cached compilation of a file that was changed within a second is stale."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _Alias(Loader):
    """Gives a module that has another name already, so that both names are one module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # importing by the plain name has put its own there
