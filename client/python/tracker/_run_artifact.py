"""The methods of a run for artifacts: files that it stores, and versions that it uses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Union

from . import _check
from ._value import tell

if TYPE_CHECKING:
    from ._config import Config
    from ._recorder import Recorder
    from ._upload import Upload
    from ._version import Version
    from ._wandb import Artifact, Path


class Artifacts:
    """Base class of Run with the methods for artifacts."""

    project: str
    server: str
    recorder: Recorder
    config: Config
    _dir = ""

    def log_artifact(self, path: Union[Path, Artifact], name: Optional[str] = None, description: str = "",
                     content_type: Optional[str] = None, type: Optional[str] = None, aliases: Sequence[str] = (),
                     tags: Any = None) -> Upload:
        """Store the content of the file at path, as it is now, as an artifact of the run.

        The file can be changed or removed afterwards. log_artifact does not wait for the server. To wait, call wait()
        on the result.

        name: the name of the artifact; by default, the name of the file.
        content_type: the media type; by default, it is guessed from the name.
        type, aliases: if either is given, the file becomes a version of an artifact. aliases are additional names of the
            version.

        If path is a tracker.Artifact, all its files are stored and together become a version, which use_artifact can
        return.

        Raises FileNotFoundError if the file does not exist, and IsADirectoryError if it is a folder.
        """
        from ._upload import Upload
        from ._wandb import Artifact

        _check.unused("log_artifact", {"tags": tags})
        if not isinstance(path, Artifact) and (type or aliases):
            artifact = Artifact(name or os.path.basename(os.fspath(path)), type or "", description)
            (artifact.add_dir if os.path.isdir(path) else artifact.add_file)(path)
            path = artifact
        if isinstance(path, Artifact):
            return self._log_version(path, description, [aliases] if isinstance(aliases, str) else list(aliases))
        path = os.path.abspath(os.fspath(path))
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a folder; log a tracker.Artifact(name) with add_dir({os.path.basename(path)!r})")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path} does not exist, so it can't be stored as an artifact")
        name = name or os.path.basename(path)
        kept = self.recorder.keep(path)
        return Upload(self.recorder, name, [self.recorder.artifact(kept, name, description, content_type)])

    def use_artifact(self, artifact: str, type: Optional[str] = None, aliases: Any = None, use_as: Any = None) -> Version:
        """Return a version of an artifact of the project. artifact is NAME, NAME:v3 or NAME:alias.

        The method download() of the version writes its files. use_artifact waits for the server, and records the version as
        the parameter uses/NAME. Raises KeyError if the version does not exist, and TrackerError if the server does not
        respond.
        """
        from ._api import Api

        found = Api(self.server, self.recorder.token).artifact(self.project, artifact)
        self.config.update({f"uses/{found.name}": f"{found.name}:{found.version}"})
        return found

    @property
    def dir(self) -> str:
        """A folder for files of the run. Files in this folder are stored as artifacts when the run ends."""
        if not self._dir:
            import tempfile

            self._dir = tempfile.mkdtemp(prefix="tracker-run-")
        return self._dir

    def _log_version(self, artifact: Artifact, description: str, aliases: List[str]) -> Upload:
        from ._upload import Upload
        from ._version import MANIFEST, manifest

        files = {inner: self.recorder.keep(path) for inner, path in artifact.files.items()}
        made = manifest(artifact.name, artifact.type, artifact.metadata, aliases, {n: kept.path for n, kept in files.items()})
        self.recorder.draw(artifact.name, [(f"{artifact.name}/{MANIFEST}", made)])
        return Upload(self.recorder, artifact.name, [
            self.recorder.artifact(kept, f"{artifact.name}/{inner}", description or artifact.description or "",
                                   late=not made.ready)
            for inner, kept in files.items()])

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
