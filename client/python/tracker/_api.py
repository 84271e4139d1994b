"""Reading back what was logged."""

from __future__ import annotations

import datetime
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Optional, Sequence, Union
from urllib.parse import quote, urlencode

from ._check import Status
from ._config import SUMMARY, Summary
from ._frame import frame
from ._history import History, Points, history, points
from ._http import Client, Refused, TrackerError, download

if TYPE_CHECKING:
    from ._version import Version

PAGE = 1000
"""Records in one request of a listing."""


class Record:
    """A record of the service: its fields are attributes, and record.fields is all of them."""

    def __init__(self, api: Api, fields: Dict[str, Any]) -> None:
        self.api, self.fields = api, fields

    id: str

    if not TYPE_CHECKING:  # so that type checkers find misspelt fields
        def __getattr__(self, name):
            try:
                return self.__dict__["fields"][name]
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no {name}") from None

    route = ""
    """The path of records of this kind in the API."""

    def delete(self) -> None:
        """Move it to the trash, with all that is in it. A server without a trash deletes it for good."""
        self.api.client.call("DELETE", f"/{self.route}/{quote(self.id, safe='')}")

    def restore(self) -> None:
        """Restore it from the trash. Raises Refused when it is not in the trash, or when a record that holds it is in the
        trash too."""
        self.api.client.call("POST", f"/trash/{quote(self.id, safe='')}/restore")

    def __repr__(self) -> str:
        label = self.fields.get("name") or self.fields.get("version") or ""
        return f"<{type(self).__name__} {label} {self.fields['id']}>"


class Api:
    """The server's records. Methods raise Refused when the server refuses a request, and Unreachable without an answer."""

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

    def runs(self, project: str, experiment: Optional[str] = None, filter: Optional[str] = None,
             sort: Optional[str] = None) -> List[Iteration]:
        """The runs of an experiment, or of all experiments of a project, in the language of docs/search.md."""
        found = self.project(project)
        places = [found.experiment(experiment)] if experiment is not None else found.experiments()
        return [run for place in places for run in place.iterations(filter, sort)]

    def run(self, id: str) -> Iteration:
        """One run."""
        return self.iteration(id)

    def iteration(self, id: str) -> Iteration:
        """One iteration."""
        return Iteration(self, self.client.call("GET", f"/iteration/{quote(id, safe='')}"))

    def artifact(self, project: str, name: str) -> Version:
        """The version of an artifact that NAME, NAME:v3 or NAME:alias names in a project. KeyError when there is none."""
        from ._version import find

        return find(self.client, [one.id for one in self.project(project).experiments()], name)

    def model(self, name: str, project: Optional[str] = None) -> Model:
        """The model of that name, in a project or in any. KeyError when there is none, or when several projects have one."""
        found = [Model(self, record)
                 for one in ([self.project(project)] if project else self.projects())
                 for record in self.all(f"/model/project/{one.id}", exact_name=name)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} projects have a model {name!r}" + ("; say in which project" if found else ""))
        return found[0]

    def trash(self, kind: Optional[str] = None) -> List[Trashed]:
        """The records in the trash that the token may restore, the latest deletions first.

        kind is project, experiment, iteration, model, model_version, report or resource, which is an artifact.
        """
        return [Trashed(self, r) for r in self.all("/trash", kind=kind)]

    def empty_trash(self, until: Optional[datetime.datetime] = None) -> int:
        """Purge everything in the trash, or what was deleted until a time. Return the number of records. For administrators."""
        at = "" if until is None else "?" + urlencode({"until": until.astimezone(datetime.timezone.utc).isoformat()})
        purged: int = self.client.call("DELETE", "/trash" + at)["purged"]
        return purged

    def series(self, iterations: Sequence[Any], keys: Sequence[str], points: int = 1000) -> List[Dict[str, Any]]:
        """Curves of many iterations as columns: step, value, recorded_at, and min and max when points are in buckets."""
        ids = [getattr(one, "id", one) for one in iterations]
        answer = self.client.call("POST", "/series", {"iterations": ids, "keys": list(keys), "points": points})
        return list(answer["series"])


class Project(Record):
    """A project."""

    route = "project"
    name: str
    description: str
    created_date: str
    experiment_count: int
    iteration_count: int

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

    route = "experiment"
    name: str
    description: str
    project_id: str
    status: Literal["IN_PROGRESS", "STOPPED", "FINISHED"]
    created_date: str
    end_date: Optional[str]
    iteration_count: int

    def iterations(self, filter: Optional[str] = None, sort: Optional[str] = None,
                   columns: Optional[str] = None) -> List[Iteration]:
        """Its iterations that pass filter, in the order of sort; both are in the language of docs/search.md."""
        rows = self.api.all(f"/iteration/experiment/{self.id}", filter=filter, sort=sort, columns=columns)
        return [Iteration(self.api, r) for r in rows]

    def to_pandas(self, filter: Optional[str] = None, sort: Optional[str] = None) -> Any:
        """A pandas frame of its iterations: their fields, parameters under param/NAME, and last values under metric/NAME.

        Dates are times in UTC. A parameter that is a number or empty in all iterations is a number.
        """
        keys = [(r["kind"], r["key"]) for r in self.api.all(f"/experiment/{self.id}/keys")]
        return frame(keys, lambda columns: (one.fields for one in self.iterations(filter, sort, columns)))


class Iteration(Record):
    """An iteration: one run."""

    route = "iteration"
    name: str
    notes: str
    experiment_id: str
    parent_iteration_id: Optional[str]
    status: Status
    error_message: str
    created_date: str
    end_date: Optional[str]
    last_seen: str
    tags: List[str]
    params: Dict[str, str]  # and metrics: only of a listing that was asked for columns
    metrics: Dict[str, Any]

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
        """The statistics of each metric: count, last, min and max, each with its step (last_step, ...), and mean.

        last is the value at the largest step; min, max and mean are over the finite values, None when there is none.
        """
        return dict(self._summary()["metrics"])

    def _summary(self) -> Dict[str, Any]:
        answer: Dict[str, Any] = self.api.client.call("GET", f"/iteration/{self.id}/summary")
        for one in answer["metrics"].values():
            for name in ("last", "min", "max", "mean"):
                one[name] = None if one[name] is None else float(one[name])  # which may be text, as NaN is
        return answer

    def series(self, key: str, points: int = 1000) -> Dict[str, Any]:
        """The curve of a metric as columns, in about points points at most; no peak is lost. KeyError without such a metric."""
        query = urlencode({"key": key, "points": points})
        found = self.api.client.call("GET", f"/metric/iteration/{self.id}/series?{query}")["series"]
        if not found:
            raise KeyError(key)
        return dict(found[0])

    def history(self, keys: Optional[Sequence[str]] = None, wide: bool = True) -> Union[History, Points]:
        """All points of these metrics. Without keys: of all metrics except the metrics of the machine.

        One row for each step, with a column for each metric; with wide=False one row for each point, with its time.
        """
        if keys is None:
            keys = [key for key in self._summary()["metrics"] if not key.startswith(("system/", SUMMARY))]
        keys = [keys] if isinstance(keys, str) else list(keys)
        return (history if wide else points)(self.api.client, self.id, keys)

    def artifacts(self) -> List[Artifact]:
        """The artifacts that it has logged."""
        rows = self.api.all(f"/resource/experiment/{self.experiment_id}", iteration_id=self.id)
        return [Artifact(self.api, r) for r in rows]


class Artifact(Record):
    """A file that was logged."""

    route = "resource"
    name: str
    description: str
    experiment_id: str
    iteration_id: Optional[str]
    backend: str
    uri: str
    size_bytes: int
    content_hash: str
    content_type: str
    created_date: str
    updated_date: str

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

    route = "model"
    name: str
    description: str
    project_id: str
    created_date: str
    updated_date: str

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

    route = "modelversion"
    model_id: str
    version: int
    stage: Literal["NONE", "STAGING", "PRODUCTION", "ARCHIVED"]
    description: str
    iteration_id: str
    resource_id: Optional[str]
    created_date: str
    updated_date: str

    def artifact(self) -> Artifact:
        """The artifact that holds it. KeyError when it has none."""
        if not self.resource_id:
            raise KeyError(f"version {self.version} has no artifact")
        return Artifact(self.api, self.api.client.call("GET", f"/resource/{self.resource_id}"))

    def download(self, path: Optional[str] = None, progress: Optional[bool] = None) -> str:
        """Download its artifact, see Artifact.download."""
        return self.artifact().download(path, progress)


class Trashed(Record):
    """A record in the trash, with the numbers of records that are restored and purged with it. delete() purges it."""

    route = "trash"
    kind: str
    name: str
    project_id: str
    project_name: str
    deleted_date: str
    deleted_by: Optional[str]
    purge_date: str
    held_by: str
    experiments: int
    iterations: int
    models: int
    versions: int
    artifacts: int
    size_bytes: int

    def delete(self) -> None:
        """Delete it for good."""
        super().delete()


def _exactly(records: Sequence[Any], name: str, kind: str) -> Any:
    for record in records:
        if record.fields["name"] == name:
            return record
    raise KeyError(f"there is no {kind} {name!r}")
