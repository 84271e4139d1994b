"""Reading back what was logged."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence
from urllib.parse import quote, urlencode

from ._config import SUMMARY, Summary
from ._http import Client, Refused, TrackerError, download

PAGE = 1000
"""Records in one request of a listing."""


class Record:
    """A record of the service: its fields are attributes, and record.fields is all of them."""

    def __init__(self, api: Api, fields: Dict[str, Any]) -> None:
        self.api, self.fields = api, fields

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name}") from None

    def __repr__(self) -> str:
        label = self.fields.get("name") or self.fields.get("version") or ""
        return f"<{type(self).__name__} {label} {self.fields['id']}>"


class Api:
    """The server's records. Errors are raised: Refused for what it says no to, Unreachable without an answer."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None) -> None:
        self.client = Client(url, token)

    def all(self, path: str, **query: Any) -> Iterator[Dict[str, Any]]:
        """The records of a listing, page by page. Arguments that are None are left out."""
        wanted = {name: value for name, value in query.items() if value is not None}
        offset = 0
        while True:
            page = self.client.call("GET", f"{path}?{urlencode({**wanted, 'limit': PAGE, 'offset': offset})}")
            yield from page["data"]
            offset += len(page["data"])
            if not page["data"] or offset >= page["total"]:
                return

    def projects(self, name: Optional[str] = None) -> List[Project]:
        """The projects whose name contains name, or all."""
        return [Project(self, r) for r in self.all("/project", name=name)]

    def project(self, name: str) -> Project:
        """The project of exactly that name. KeyError when there is none."""
        found: Project = _exactly(self.projects(name), name, "project")
        return found

    def iterations(self, project: str, experiment: str, filter: Optional[str] = None, sort: Optional[str] = None,
                   columns: Optional[str] = None) -> List[Iteration]:
        """The iterations of an experiment, in the language of docs/search.md."""
        return self.project(project).experiment(experiment).iterations(filter, sort, columns)

    def iteration(self, id: str) -> Iteration:
        """One iteration."""
        return Iteration(self, self.client.call("GET", f"/iteration/{quote(id, safe='')}"))

    def model(self, name: str, project: Optional[str] = None) -> Model:
        """The model of that name, in a project or in whichever one has it. KeyError when there is none or several."""
        found = [Model(self, record)
                 for one in ([self.project(project)] if project else self.projects())
                 for record in self.all(f"/project/{one.id}/model", name=name)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} projects have a model {name!r}" + ("; say in which project" if found else ""))
        return found[0]

    def series(self, iterations: Sequence[Any], keys: Sequence[str], points: int = 1000) -> List[Dict[str, Any]]:
        """Curves of many iterations as columns: step, value, recorded_at, and min and max where they are bucketed."""
        ids = [getattr(one, "id", one) for one in iterations]
        answer = self.client.call("POST", "/series", {"iterations": ids, "keys": list(keys), "points": points})
        return list(answer["series"])


class Project(Record):
    """A project."""

    def experiments(self, name: Optional[str] = None, status: Optional[str] = None) -> List[Experiment]:
        """Its experiments, the newest first."""
        return [Experiment(self.api, r) for r in self.api.all(f"/experiment/project/{self.id}", name=name, status=status)]

    def experiment(self, name: str) -> Experiment:
        """The newest experiment of exactly that name. KeyError when there is none."""
        found: Experiment = _exactly(self.experiments(name), name, "experiment")
        return found

    def models(self) -> List[Model]:
        """Its models."""
        return [Model(self.api, r) for r in self.api.all(f"/model/project/{self.id}")]


class Experiment(Record):
    """An experiment."""

    def iterations(self, filter: Optional[str] = None, sort: Optional[str] = None,
                   columns: Optional[str] = None) -> List[Iteration]:
        """Its iterations that filter lets through, in the order of sort; both in the language of docs/search.md."""
        rows = self.api.all(f"/iteration/experiment/{self.id}", filter=filter, sort=sort, columns=columns)
        return [Iteration(self.api, r) for r in rows]


class Iteration(Record):
    """An iteration: one run."""

    @property
    def parameters(self) -> Dict[str, str]:
        """Its parameters, as text."""
        return {r["key"]: r["value"] for r in self.api.all(f"/parameter/iteration/{self.id}")}

    @property
    def summary(self) -> Summary:
        """What was set in run.summary, and the last value of every metric, by name; texts are as in parameters."""
        found, own = Summary(), {}
        answer = self._summary()
        for name, value in {**answer["params"], **{key: one["last"] for key, one in answer["metrics"].items()}}.items():
            if name.startswith(SUMMARY):
                own[name[len(SUMMARY):]] = value
            elif name in answer["metrics"]:
                found[name] = value
        found.update(own)
        return found

    @property
    def statistics(self) -> Dict[str, Dict[str, Any]]:
        """Of each metric: count, last, min and max, each with its step (last_step, ...), and mean.

        last is the value at the largest step; min, max and mean are of the values that are finite, None without any.
        """
        return dict(self._summary()["metrics"])

    def _summary(self) -> Dict[str, Any]:
        answer: Dict[str, Any] = self.api.client.call("GET", f"/iteration/{self.id}/summary")
        for one in answer["metrics"].values():
            for name in ("last", "min", "max", "mean"):
                one[name] = None if one[name] is None else float(one[name])  # which may be text, as NaN is
        return answer

    def series(self, key: str, points: int = 1000) -> Dict[str, Any]:
        """The curve of a metric as columns, in at most about so many points; no peak is lost. KeyError without one."""
        query = urlencode({"key": key, "points": points})
        found = self.api.client.call("GET", f"/metric/iteration/{self.id}/series?{query}")["series"]
        if not found:
            raise KeyError(key)
        return dict(found[0])

    def history(self, keys: Sequence[str]) -> History:
        """Every point of these metrics."""
        columns: Dict[str, List[Any]] = {"key": [], "step": [], "value": [], "recorded_at": []}
        for key in keys:
            for row in self.api.all(f"/metric/iteration/{self.id}", key=key):
                columns["key"].append(key)
                columns["step"].append(row["step"])
                columns["value"].append(float(row["value"]))
                columns["recorded_at"].append(row["recorded_at"])
        return History(columns)

    def artifacts(self) -> List[Artifact]:
        """The artifacts that it has logged."""
        rows = self.api.all(f"/resource/experiment/{self.experiment_id}", iteration_id=self.id)
        return [Artifact(self.api, r) for r in rows]


class History(Dict[str, List[Any]]):
    """Points as columns of the same length: key, step, value, and recorded_at as RFC 3339 text in UTC.

    In frames, step is a 64-bit integer, value a double, recorded_at a time in UTC with milliseconds.
    """

    def to_pandas(self) -> Any:
        """As a pandas frame."""
        import pandas

        frame = pandas.DataFrame(dict(self)).astype({"step": "int64", "value": "float64"})
        frame["recorded_at"] = pandas.to_datetime(frame["recorded_at"], utc=True)
        return frame

    def to_polars(self) -> Any:
        """As a polars frame."""
        import polars

        return polars.DataFrame(self._timed(), schema={
            "key": polars.String, "step": polars.Int64, "value": polars.Float64, "recorded_at": polars.Datetime("ms", "UTC")})

    def to_arrow(self) -> Any:
        """As an Arrow table."""
        import pyarrow

        return pyarrow.table(self._timed(), schema=pyarrow.schema([
            ("key", pyarrow.string()), ("step", pyarrow.int64()), ("value", pyarrow.float64()),
            ("recorded_at", pyarrow.timestamp("ms", "UTC"))]))

    def _timed(self) -> Dict[str, List[Any]]:
        from datetime import datetime

        return {**self, "recorded_at": [datetime.fromisoformat(at.replace("Z", "+00:00")) for at in self["recorded_at"]]}


class Artifact(Record):
    """A file that was logged."""

    def download(self, path: Optional[str] = None, progress: Optional[bool] = None) -> str:
        """Write it to path, a folder or a file, and return where it is. TrackerError when its hash is wrong.

        progress shows a line on stderr; without it, when that is a terminal.
        """
        path = path or "."
        name = os.path.basename(self.fields["name"]) or self.id
        target = os.path.join(path, name) if os.path.isdir(path) else path
        show = sys.stderr.isatty() if progress is None else progress

        def tell(done: int, total: int) -> None:
            print(f"\r{name}: {done / 1e6:.1f} of {total / 1e6:.1f} MB", end="", file=sys.stderr)

        partial = target + ".part"
        try:
            with open(partial, "wb") as file:
                digest = download(self.api.client, f"/resource/{self.id}/data", file, tell if show else None)
            if digest != self.content_hash:
                raise TrackerError(f"{name} arrived damaged: its SHA-256 is {digest}, not {self.content_hash}")
            os.replace(partial, target)
        finally:
            if show:
                print(file=sys.stderr)
            if os.path.exists(partial):
                os.unlink(partial)
        return target


class Model(Record):
    """A model of the registry."""

    def versions(self, stage: Optional[str] = None) -> List[ModelVersion]:
        """Its versions, the newest first."""
        return [ModelVersion(self.api, r) for r in self.api.all(f"/modelversion/model/{self.id}", stage=stage)]

    def production(self) -> ModelVersion:
        """The version in production. KeyError when there is none."""
        try:
            return ModelVersion(self.api, self.api.client.call("GET", f"/model/{self.id}/production"))
        except Refused as refused:
            if refused.status == 404:
                raise KeyError(f"no version of {self.name} is in production") from None
            raise


class ModelVersion(Record):
    """A version of a model."""

    def artifact(self) -> Artifact:
        """The artifact that holds it. KeyError when it has none."""
        if not self.resource_id:
            raise KeyError(f"version {self.version} has no artifact")
        return Artifact(self.api, self.api.client.call("GET", f"/resource/{self.resource_id}"))

    def download(self, path: Optional[str] = None, progress: Optional[bool] = None) -> str:
        """Download its artifact, see Artifact.download."""
        return self.artifact().download(path, progress)


def _exactly(records: Sequence[Any], name: str, kind: str) -> Any:
    for record in records:
        if record.fields["name"] == name:
            return record
    raise KeyError(f"there is no {kind} {name!r}")
