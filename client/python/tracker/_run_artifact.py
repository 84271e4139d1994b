"""The methods of a run for artifacts: files that it stores, and versions that it uses."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Union

from ._value import tell

if TYPE_CHECKING:
    from ._config import Config
    from ._recorder import Recorder
    from ._upload import Upload
    from ._version import Version
    from ._wandb import Artifact, Path


def _words(words: Union[str, Sequence[str]]) -> List[str]:
    """Return the words as a list. A single word can be a string."""
    return [words] if isinstance(words, str) else list(words)


def finite(value: Any) -> Any:
    """Return value with the strings NaN, Infinity and -Infinity in place of numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value


class Artifacts:
    """Base class of Run with the methods for artifacts."""

    project: str
    server: str
    recorder: Recorder
    config: Config
    _dir = ""

    def log_artifact(self, path: Union[Path, Artifact], name: Optional[str] = None, description: str = "",
                     content_type: Optional[str] = None, type: Optional[str] = None, aliases: Sequence[str] = (),
                     tags: Sequence[str] = (), metadata: Optional[Dict[str, Any]] = None) -> Upload:
        """Store the content of the file at path, as it is now, as an artifact of the run.

        The file can be changed or removed afterwards. log_artifact does not wait for the server. To wait, call wait()
        on the result.

        name: the name of the artifact; by default, the name of the file.
        content_type: the media type; by default, it is guessed from the name.
        type, aliases, tags, metadata: if any is given, the file, or the folder with all its files, becomes a version of an
            artifact. aliases are names of the version; a newer version with an alias takes it over. metadata is stored as
            JSON.

        If path is a tracker.Artifact, all its files are stored and together become a version, which use_artifact can
        return.

        Raises FileNotFoundError if the file does not exist, and IsADirectoryError if it is a folder without a type.
        """
        from ._upload import Upload
        from ._wandb import Artifact

        if not isinstance(path, Artifact) and (type or aliases or tags or metadata):
            artifact = Artifact(name or os.path.basename(os.path.abspath(os.fspath(path))), type or "", description, metadata)
            (artifact.add_dir if os.path.isdir(path) else artifact.add_file)(path)
            path = artifact
        if isinstance(path, Artifact):
            return self._log_version(path, description, _words(aliases), _words(tags))
        path = os.path.abspath(os.fspath(path))
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a folder; to log it as a version of an artifact, give a type, such as 'dataset'")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path} does not exist, so it can't be stored as an artifact")
        name = name or os.path.basename(path)
        kept = self.recorder.keep(path)
        return Upload(self.recorder, name, [self.recorder.artifact(kept, name, description, content_type)])

    def use_artifact(self, artifact: str, type: Optional[str] = None, aliases: Any = None, use_as: Any = None) -> Version:
        """Return a version of an artifact of the project. artifact is NAME, NAME:v3 or NAME:alias.

        The method download() of the version writes its files. use_artifact waits for the server, and records that the run
        uses the version, also as the parameter uses/NAME. Raises KeyError if the version does not exist, and TrackerError
        if the server does not respond.
        """
        from ._api import Api

        found = Api(self.server, self.recorder.token).artifact(self.project, artifact)
        self.config.update({f"uses/{found.name}": f"{found.name}:{found.version}"})
        if found.id:
            self.recorder.request("POST", "/artifactversion/iteration/{id}/use", {"artifactversion_id": found.id})
        return found

    @property
    def dir(self) -> str:
        """A folder for files of the run. Files in this folder are stored as artifacts when the run ends."""
        if not self._dir:
            import tempfile

            self._dir = tempfile.mkdtemp(prefix="tracker-run-")
        return self._dir

    def _log_version(self, artifact: Artifact, description: str, aliases: List[str], tags: List[str]) -> Upload:
        from ._upload import Upload
        from ._value import uuid7

        if not artifact.files:
            raise ValueError(f"the artifact {artifact.name} has no files")
        files = {inner: self.recorder.keep(path) for inner, path in artifact.files.items()}
        # The server moves the files from this folder into the version.
        folder = ".version-" + uuid7().replace("-", "")[-20:]
        numbers = [self.recorder.artifact(kept, f"{folder}/{inner}") for inner, kept in files.items()]
        metadata = artifact.metadata
        if metadata is not None and not isinstance(metadata, dict):
            metadata = {"value": metadata}
        numbers.append(self.recorder.version(artifact.name, {
            "name": artifact.name, "type": artifact.type or "file", "path": folder, "aliases": aliases, "tags": tags,
            "description": description or artifact.description or "", "metadata": finite(metadata or {})}))
        return Upload(self.recorder, artifact.name, numbers)

    def keep_dir(self) -> None:
        """Store the files in dir as artifacts, and remove the folder."""
        if not self._dir:
            return
        import shutil

        top = self._dir
        for folder, _folders, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    self.log_artifact(path, name=os.path.relpath(path, top).replace(os.sep, "/"))
                except OSError as error:
                    tell(f"{path} could not be stored: {error}")
        shutil.rmtree(top, ignore_errors=True)
