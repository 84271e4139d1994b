"""Random calls of MLflow's protocol, which depend only on the seed and never on a response."""

STEPS = [0, 0, 1, 2, 3, -5, 2**40]
VALUES = [0, 1, -1.5, 0.25, 1e300, "NaN", "Infinity", "-Infinity", "3.5"]
KEYS = ["a", "b", "loss", "Ä ü", "a.b-c/d e", "花:1", "A"]
BAD_KEYS = ["a//b", "../x", "/a", "a/", "a!b", "", "x" * 251, None, ".", "a/../b", "a/./b", " "]
TEXTS = ["1", "0.5", "", "red", "Red", "it's", "50%", "a_b", "x" * 6001, "花とアヤメ", "true"]
OPERATORS = ["=", "!=", "<", "<=", ">", ">="]
STATUSES = ["RUNNING", "FINISHED", "FAILED", "KILLED"]
STAGES = ["None", "Staging", "Production", "Archived", "staging", "PRODUCTION", "Nowhere"]
FILES = "/api/2.0/mlflow-artifacts/artifacts"


class Calls:
    """The calls of one seed."""

    def __init__(self, rng, seed):
        self.rng = rng
        self.prefix = f"s{seed}-"
        self.n = {"experiment": 0, "run": 0, "model": 0}
        self.at = 1_700_000_000_000 + seed * 1_000_000
        self.home = {}  # experiment of each run
        self.kinds = [
            (3, self.new_experiment), (6, self.experiment), (4, self.experiment_tag), (4, self.search_experiments),
            (8, self.new_run), (10, self.run), (24, self.log), (6, self.tag), (12, self.search_runs), (6, self.history),
            (3, self.inputs), (4, self.new_registered), (10, self.registered), (6, self.new_version), (12, self.version),
            (6, self.search_registry), (4, self.new_logged), (8, self.logged), (4, self.search_logged), (7, self.files),
        ]  # fmt: skip

    def next(self, number, total):
        """Return the next call, the name of the record that it creates (or ""), and whether to read all pages."""
        if number == 0:
            return self.new_experiment()
        if number == 1:
            return self.new_run()
        if number >= total - 5:  # at the end, read all records
            everything = [f"<experiment{i}>" for i in range(1, self.n["experiment"] + 1)]
            mine = f"name LIKE '{self.prefix}%'"
            return [
                (("POST", "experiments/search", {"max_results": 1000, "view_type": "ALL", "filter": mine}), "", True),
                (("POST", "runs/search", {"experiment_ids": everything, "run_view_type": "ALL", "max_results": 7}), "", True),
                (("GET", "registered-models/search", {"filter": mine, "max_results": 3}), "", True),
                (("GET", "model-versions/search", {"filter": mine, "order_by": ["name ASC", "version_number ASC"]}), "", True),
                (("POST", "logged-models/search", {"experiment_ids": everything, "max_results": 3}), "", True),
            ][number - total]
        weights = [w for w, _ in self.kinds]
        return self.rng.choices([k for _, k in self.kinds], weights)[0]()

    def some(self, kind):
        """Return the name of a record, which sometimes does not exist."""
        if self.rng.random() < 0.03:
            return f"<{kind}999>"
        return f"<{kind}{self.rng.randint(1, max(1, self.n[kind]))}>"

    def new(self, kind):
        self.n[kind] += 1
        return f"<{kind}{self.n[kind]}>"

    def pick(self, *values):
        return self.rng.choice(values)

    def key(self):
        return self.rng.choice(BAD_KEYS if self.rng.random() < 0.05 else KEYS)

    def pair(self):
        return {"key": self.key(), "value": self.rng.choice(TEXTS)}

    def pairs(self, most):
        return [self.pair() for _ in range(self.rng.randint(0, most))]

    def point(self):
        self.at += self.pick(0, 1, 10)
        p = {"key": self.key(), "value": self.rng.choice(VALUES), "timestamp": self.at, "step": self.rng.choice(STEPS)}
        if self.rng.random() < 0.1:
            p["timestamp"] -= 5
        if self.rng.random() < 0.02:
            del p[self.pick("key", "value", "timestamp")]
        if self.rng.random() < 0.1:
            p.pop("step")
        return p

    def label(self):
        """Return a name for an experiment or a registered model. Some names are invalid."""
        if self.rng.random() < 0.05:
            return self.pick("", None)
        return self.prefix + self.pick("one", "two", "three", "Four", "fünf", "six seven")

    def new_experiment(self):
        body = {"name": self.label(), "tags": self.pairs(1)}
        return ("POST", "experiments/create", body), self.new("experiment"), False

    def experiment(self):
        e = self.some("experiment")
        return self.pick(
            ("GET", "experiments/get", {"experiment_id": e}),
            ("GET", "experiments/get-by-name", {"experiment_name": self.label()}),
            ("POST", "experiments/update", {"experiment_id": e, "new_name": self.label()}),
            ("POST", "experiments/delete", {"experiment_id": e}),
            ("POST", "experiments/restore", {"experiment_id": e}),
            ("POST", "experiments/restore", {"experiment_id": e}),
        ), "", False

    def experiment_tag(self):
        body = {"experiment_id": self.some("experiment"), **self.pair()}
        if self.rng.random() < 0.2:
            del body["value"]
            return ("POST", "experiments/delete-experiment-tag", body), "", False
        return ("POST", "experiments/set-experiment-tag", body), "", False

    def text_term(self, left):
        op = self.pick("=", "!=", "LIKE", "ILIKE", "=", "!=", "<", "IS NULL", "IS NOT NULL", "like")
        value = self.pick("1", "red", "RED", "%e%", "r_d", "50%", "a_b", "%", "", "花%")
        if op.startswith("IS"):
            return f"{left} {op}"
        return f"{left} {op} {self.rng.choice(chr(39) + chr(34))}".replace('"', "'") + value + "'"

    def search_experiments(self):
        terms = [f"name LIKE '{self.prefix}%'"]
        for _ in range(self.rng.randint(0, 2)):
            terms.append(self.pick(
                self.text_term("tags." + self.pick("a", "b", "`Ä ü`")), self.text_term("name"), "attribute.name ILIKE '%O%'",
                "creation_time > 5", "last_update_time < 5", "nope = 'x'", "tags.a = 5", "name = ", "OR", "creation_time = 'x'",
            ))  # fmt: skip
        body = {"max_results": self.pick(1, 2, 5, 1000), "filter": " AND ".join(terms),
                "view_type": self.pick("ACTIVE_ONLY", "DELETED_ONLY", "ALL", 1, 3),
                "order_by": self.pick([], ["name"], ["name DESC"], ["creation_time ASC"], ["nope"], ["last_update_time"], ["name up"])}  # fmt: skip
        if self.rng.random() < 0.05:
            body["max_results"] = self.pick(0, -1, 50001)
        return ("POST", "experiments/search", body), "", True

    def new_run(self):
        self.at += 1000
        body = {"experiment_id": self.some("experiment"), "user_id": self.pick("ada", "bob"), "start_time": self.at, "tags": self.pairs(1)}
        body["run_name"] = self.pick("first", "Second", "dritter Lauf", "花")
        body["tags"].append({"key": "mlflow.user", "value": body["user_id"]})  # as clients do
        if self.rng.random() < 0.2:
            body["tags"].append({"key": "mlflow.parentRunId", "value": self.some("run")})
        if self.rng.random() < 0.2:
            body["tags"].append({"key": "mlflow.note.content", "value": "a *note*"})
        if self.rng.random() < 0.2:
            body["tags"].append({"key": "mlflow.source.name", "value": "train.py"})
        if self.rng.random() < 0.1:
            body["tags"].append({"key": "mlflow.runName", "value": self.pick("first", "other")})
        name = self.new("run")
        self.home[name] = body["experiment_id"]
        return ("POST", "runs/create", body), name, False

    def run(self):
        r = self.some("run")
        update = {"run_id": r}
        if self.rng.random() < 0.9:
            update["status"] = self.rng.choice([*STATUSES, 3, "DONE"] if self.rng.random() < 0.2 else STATUSES[1:])
        if update.get("status", "RUNNING") != "RUNNING" or self.rng.random() < 0.1:
            self.at += 7
            update["end_time"] = self.at
        if self.rng.random() < 0.3:
            update["run_name"] = self.pick("renamed", "again", "")
        return self.pick(
            ("GET", "runs/get", {"run_id": r}), ("GET", "runs/get", {"run_uuid": r}), ("GET", "runs/get", {"run_id": r}),
            ("POST", "runs/update", update), ("POST", "runs/update", update), ("POST", "runs/update", update),
            ("POST", "runs/delete", {"run_id": r}), ("POST", "runs/restore", {"run_id": r}), ("POST", "runs/restore", {"run_id": r}),
        ), "", False  # fmt: skip

    def log(self):
        r = self.some("run")
        batch = {"run_id": r, "metrics": [self.point() for _ in range(self.rng.randint(0, 8))], "params": self.pairs(2), "tags": self.pairs(2)}
        if self.rng.random() < 0.03:
            batch["metrics"] = [{"key": "a", "value": 1, "timestamp": 1, "step": i} for i in range(1001)]
        if self.rng.random() < 0.03:
            batch["params"] = [{"key": f"p{i}", "value": "1"} for i in range(101)]
        return self.pick(
            ("POST", "runs/log-metric", {"run_id": r, **self.point()}), ("POST", "runs/log-parameter", {"run_id": r, **self.pair()}),
            ("POST", "runs/log-batch", batch), ("POST", "runs/log-batch", batch), ("POST", "runs/set-tag", {"run_id": r, **self.pair()}),
        ), "", False  # fmt: skip

    def tag(self):
        r = self.some("run")
        special = self.pick("mlflow.note.content", "mlflow.runName", "mlflow.source.name", "mlflow.source.type", "mlflow.source.git.commit")
        return self.pick(
            ("POST", "runs/delete-tag", {"run_id": r, "key": self.key()}), ("POST", "runs/delete-tag", {"run_id": r, "key": self.key()}),
            ("POST", "runs/set-tag", {"run_id": r, "key": special, "value": self.pick("x", "y z", "")}),
            ("POST", "runs/delete-tag", {"run_id": r, "key": special}),
        ), "", False  # fmt: skip

    def term(self):
        metric = "metrics." + self.pick("a", "b", "`Ä ü`", "loss", '"a.b-c/d e"', "none")
        return self.pick(
            f"{metric} {self.rng.choice(OPERATORS)} {self.pick('0', '1', '-1.5', '0.25', '1e300')}",
            f"metric.a {self.rng.choice(OPERATORS)} 1", f"metrics.a {self.pick('LIKE', 'IN')} 1", "metrics.a = '1'", "metrics.a > x",
            self.text_term("params." + self.pick("a", "b", "loss", "none")), self.text_term("tags." + self.pick("a", "`花:1`", "A")),
            self.text_term("attributes.run_name"), self.text_term("user_id"), self.text_term("tags.`mlflow.note.content`"),
            self.text_term("tags.mlflow.runName"), self.text_term("tags.mlflow.user"), self.text_term("tags.mlflow.source.name"),
            f"attributes.status {self.pick('=', '!=')} '{self.pick(*STATUSES, 'finished')}'", f"start_time {self.rng.choice(OPERATORS)} {self.at}",
            f"end_time {self.rng.choice(OPERATORS)} {self.at}", f"run_id {self.pick('IN', 'NOT IN')} ('{self.some('run')}','{self.some('run')}')",
            f"run_id = '{self.some('run')}'", f"tags.mlflow.parentRunId = '{self.some('run')}'", self.text_term("dataset.name"),
            f"dataset.{self.pick('digest', 'context', 'name')} IN ('d1', 'training', 'iris')", "datasets.context = 'training'",
            "params.a = 1", "nope = 'x'", "foo.bar = 'x'", "metrics.a = 1 OR metrics.b = 1", "(metrics.a = 1)", "params.a IN ('1', 'red')",
            "start_time = 'x'", "attributes.created > 5", "params.a ==  '1'", "metrics.a", "'a' = params.a", "status LIKE 'F%'",
        )  # fmt: skip

    def search_runs(self):
        body = {
            "experiment_ids": sorted({self.some("experiment") for _ in range(3)}), "max_results": self.pick(1, 3, 1000, 1000),
            "filter": self.pick(" and ", " AND ").join(self.term() for _ in range(self.pick(0, 1, 1, 2))),
            "run_view_type": self.pick("ACTIVE_ONLY", "ACTIVE_ONLY", "DELETED_ONLY", "ALL"),
            "order_by": [
                self.pick("metrics.a", "metrics.loss", "params.a", "tags.A", "tags.`Ä ü`", "attributes.end_time", "start_time", "run_name",
                          "metrics.none", "user_id", "Created", "nope") + self.pick("", " ASC", " DESC", " desc")
                for _ in range(self.pick(0, 0, 1, 1, 2))
            ],
        }  # fmt: skip
        if self.rng.random() < 0.03:
            body["max_results"] = self.pick(0, -1, 50001)
        return ("POST", "runs/search", body), "", True

    def history(self):
        body = {"run_id": self.some("run"), "metric_key": self.key()}
        if self.rng.random() < 0.4:
            body["max_results"] = self.pick(1, 2, 25000)
        return ("GET", "metrics/get-history", body), "", True

    def inputs(self):
        dataset = {"name": self.pick("iris", "wine"), "digest": self.pick("d1", "d2"), "source_type": "local", "source": "{}", "schema": self.pick("", "s")}
        if self.rng.random() < 0.1:
            del dataset[self.pick("name", "digest", "source_type", "source")]
        tags = [{"key": "mlflow.data.context", "value": self.pick("training", "eval")}]
        body = {"run_id": self.some("run"), "datasets": [{"dataset": dataset, "tags": tags}]}
        return ("POST", "runs/log-inputs", body), "", False

    def new_registered(self):
        body = {"name": self.label(), "tags": self.pairs(1), "description": self.pick("", "described")}
        if self.rng.random() < 0.05:
            body["name"] = self.prefix + self.pick("a/b", "a:b")
        return ("POST", "registered-models/create", body), "", False

    def registered(self):
        name, alias = self.label(), self.pick("live", "best", "v7", "latest", "a b", "")
        version = self.pick("1", "2", "3", "99", "x")
        return self.pick(
            ("GET", "registered-models/get", {"name": name}), ("GET", "registered-models/get", {"name": name}),
            ("POST", "registered-models/rename", {"name": name, "new_name": self.label()}),
            ("PATCH", "registered-models/update", {"name": name, "description": self.pick("", "new words")}),
            ("DELETE", "registered-models/delete", {"name": name}) if self.rng.random() < 0.4 else ("GET", "registered-models/get", {"name": name}),
            ("POST", "registered-models/set-tag", {"name": name, **self.pair()}),
            ("DELETE", "registered-models/delete-tag", {"name": name, "key": self.key()}),
            ("POST", "registered-models/alias", {"name": name, "alias": alias, "version": version}),
            ("POST", "registered-models/alias", {"name": name, "alias": "live", "version": version}),
            ("GET", "registered-models/alias", {"name": name, "alias": alias}), ("GET", "registered-models/alias", {"name": name, "alias": "live"}),
            ("DELETE", "registered-models/alias", {"name": name, "alias": alias}),
            ("POST", "registered-models/get-latest-versions", {"name": name, "stages": self.pick([], ["Staging"], ["None", "Production"], ["x"])}),
        ), "", False  # fmt: skip

    def new_version(self):
        r = self.some("run")
        body = {"name": self.label(), "source": f"mlflow-artifacts:/{self.home.get(r, 0)}/{r}/artifacts/model", "run_id": r, "tags": self.pairs(1)}
        if self.rng.random() < 0.3:
            body["source"] = self.pick("s3://bucket/m", f"runs:/{r}/m", "/etc/passwd", "file:///x", "s3://b/../x", "", f"models:/{self.label()}/1",
                                       "models:/nothing/1", "mlflow-artifacts:/elsewhere")  # fmt: skip
        if self.rng.random() < 0.3:
            body["run_id"] = self.pick(None, "")
        return ("POST", "model-versions/create", body), "", False

    def version(self):
        v = {"name": self.label(), "version": self.pick("1", "1", "2", "2", "3", "99", "x", "")}
        stage, archive = self.rng.choice(STAGES), self.pick(True, False, False)
        return self.pick(
            ("GET", "model-versions/get", v), ("GET", "model-versions/get", v), ("GET", "model-versions/get-download-uri", v),
            ("PATCH", "model-versions/update", {**v, "description": self.pick("", "d")}),
            ("POST", "model-versions/transition-stage", {**v, "stage": stage, "archive_existing_versions": archive}),
            ("POST", "model-versions/transition-stage", {**v, "stage": stage, "archive_existing_versions": archive}),
            ("POST", "model-versions/set-tag", {**v, **self.pair()}), ("DELETE", "model-versions/delete-tag", {**v, "key": self.key()}),
            ("DELETE", "model-versions/delete", v) if self.rng.random() < 0.4 else ("GET", "model-versions/get", v),
        ), "", False  # fmt: skip

    def search_registry(self):
        terms = [f"name LIKE '{self.prefix}%'"]
        if self.rng.random() < 0.6:
            terms.append(self.pick(self.text_term("name"), self.text_term("tags.a"), self.text_term("tags.`Ä ü`"), "nope = 'x'", "name = 5"))
        if self.rng.random() < 0.5:
            terms += [self.pick("version_number > 1", "run_id = '" + self.some("run") + "'", "source_path = 's3://bucket/m'", "run_id IN ('x')",
                                "version_number = '1'")] if self.rng.random() < 0.5 else []  # fmt: skip
            body = {"filter": " and ".join(terms), "max_results": self.pick(1, 3, 100),
                    "order_by": self.pick([], ["name ASC", "version_number DESC"], ["creation_timestamp DESC"], ["nope"])}  # fmt: skip
            return ("GET", "model-versions/search", body), "", True
        body = {"filter": " and ".join(terms), "max_results": self.pick(1, 2, 100, 1000, 1001), "order_by": self.pick([], ["name"], ["name DESC"], ["nope"])}
        return ("GET", "registered-models/search", body), "", True

    def new_logged(self):
        r = self.some("run")
        body = {"experiment_id": self.home.get(r, "<experiment1>"), "name": self.pick("net", "tree", "", "a/b"), "source_run_id": self.pick(r, "", r),
                "model_type": self.pick("", "sklearn"), "params": self.pairs(2), "tags": self.pairs(2)}  # fmt: skip
        return ("POST", "logged-models", body), self.new("model"), False

    def logged(self):
        m = self.some("model")
        return self.pick(
            ("GET", f"logged-models/{m}", {}), ("GET", f"logged-models/{m}", {}),
            ("PATCH", f"logged-models/{m}", {"model_id": m, "status": self.pick("LOGGED_MODEL_READY", "LOGGED_MODEL_UPLOAD_FAILED", 2, "x")}),
            ("PATCH", f"logged-models/{m}/tags", {"model_id": m, "tags": self.pairs(2)}),
            ("DELETE", f"logged-models/{m}/tags/{self.rng.choice(KEYS[:3])}", {}),
            ("POST", f"logged-models/{m}/params", {"model_id": m, "params": self.pairs(2)}),
            ("DELETE", f"logged-models/{m}", {}) if self.rng.random() < 0.5 else ("GET", f"logged-models/{m}", {}),
            ("POST", "runs/outputs", {"run_id": self.some("run"), "models": [{"model_id": m, "step": self.pick(0, 5)}]}),
            ("POST", "runs/log-metric", {"run_id": self.some("run"), **self.point(), "model_id": m, "dataset_name": "iris", "dataset_digest": "d1"}),
        ), "", False  # fmt: skip

    def search_logged(self):
        body = {"experiment_ids": sorted({self.some("experiment") for _ in range(3)}), "max_results": self.pick(1, 2, 50),
                "filter": self.pick("", self.text_term("name"), self.text_term("params.a"), self.text_term("tags.a"), "metrics.a > 0", "nope = 1",
                                    "status = 'READY'", "model_type = 'sklearn'", f"source_run_id = '{self.some('run')}'"),
                "order_by": self.pick([], [{"field_name": "name"}], [{"field_name": "metrics.a", "ascending": False}], [{"field_name": "nope"}],
                                      [{"field_name": "creation_timestamp", "ascending": True}])}  # fmt: skip
        return ("POST", "logged-models/search", body), "", True

    def files(self):
        r = self.some("run")
        root = f"{self.home.get(r, 0)}/{r}/artifacts"
        path = self.pick("a.txt", "dir/b.txt", "dir/sub/ü c.bin", "dir", "A.txt")
        return self.pick(
            ("PUT", f"{FILES}/{root}/{path}", self.pick("first", "second bytes", "")), ("PUT", f"{FILES}/{root}/{path}", "x"),
            ("PUT", f"{FILES}/{root}/{path}", "y"), ("GET", f"{FILES}/{root}/{path}", {}), ("GET", FILES, {"path": root}),
            ("GET", FILES, {"path": root + "/dir"}), ("GET", "artifacts/list", {"run_id": r}), ("GET", "artifacts/list", {"run_id": r, "path": "dir"}),
            ("DELETE", f"{FILES}/{root}/{path}", {}), ("PUT", f"{FILES}/{root}/../x", "x"),
        ), "", False  # fmt: skip
