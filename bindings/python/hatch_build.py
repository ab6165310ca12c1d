"""Builds the shared library with cargo and puts it into the wheel; puts the crate's sources into the sdist.

A wheel is built from the project (this folder is `bindings/python` of it) or from an unpacked sdist, where the crate stands in
`crate/`. AGENT_SURFACE_LIBRARY names a library that is built already.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Dict

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = pathlib.Path(__file__).resolve().parent
CRATE_FILES = ("Cargo.lock", "build.rs", "src", "include", "LICENSE", "README.md")


def crate() -> pathlib.Path:
    """The Rust crate: beside this file in an sdist, two folders up in the project."""
    inside = HERE / "crate"
    return inside if inside.is_dir() else HERE.parent.parent


def library_name() -> str:
    if sys.platform == "darwin":
        return "libagent_surface.dylib"
    return "agent_surface.dll" if sys.platform == "win32" else "libagent_surface.so"


def build() -> pathlib.Path:
    given = os.environ.get("AGENT_SURFACE_LIBRARY")
    if given:
        return pathlib.Path(given).resolve()
    if shutil.which("cargo") is None:
        raise RuntimeError(
            "agent-surface is built from Rust here, and there is no cargo. Install a Rust toolchain (https://rustup.rs) or "
            "a wheel for your platform."
        )
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", str(crate() / "target")))
    command = ["cargo", "rustc", "--release", "--lib", "--crate-type", "cdylib", "--target-dir", str(target)]
    subprocess.run(command, cwd=crate(), check=True)
    return target / "release" / library_name()


def without_tests(manifest: str) -> str:
    """The crate's manifest without the tests and benchmarks that an sdist leaves behind: cargo wants every listed file."""
    return re.sub(r"^\[\[(?:test|bench|example)\]\]\n(?:(?!\[).*\n?)*", "", manifest, flags=re.M)


def platform_tag() -> str:
    return re.sub(r"[-.]", "_", sysconfig.get_platform())


class CustomMetadataHook(MetadataHookInterface):
    """The version is the crate's."""

    def update(self, metadata: Dict[str, Any]) -> None:
        text = (crate() / "Cargo.toml").read_text(encoding="utf-8")
        found = re.search(r'^version = "(.+?)"', text, re.M)
        assert found is not None
        metadata["version"] = found.group(1)


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        if self.target_name == "sdist":
            for name in CRATE_FILES:
                build_data["force_include"][str(crate() / name)] = f"crate/{name}"
            self._manifest = tempfile.TemporaryDirectory()
            manifest = pathlib.Path(self._manifest.name) / "Cargo.toml"
            manifest.write_text(without_tests((crate() / "Cargo.toml").read_text(encoding="utf-8")), encoding="utf-8")
            build_data["force_include"][str(manifest)] = "crate/Cargo.toml"
            return
        library = build()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag()}"
        if version == "editable":  # what is forced in does not reach an editable install
            shutil.copy(library, HERE / "src/agent_surface/_native" / library_name())
        else:
            build_data["force_include"][str(library)] = f"agent_surface/_native/{library_name()}"
