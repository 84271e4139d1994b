"""Tests of API keys on a server with sign-in."""

import base64
import re
import urllib.error
import urllib.request


def test_key(closed, script, wandb_command):
    key = closed.command("token", "--user", "default", "--wandb").strip()
    assert re.fullmatch(r"[A-Za-z0-9]{40}", key)
    script(closed.uri, """
        run = wandb.init(project="keys", name="run", id="run", config={"lr": 1})
        run.log({"loss": 1})
        open("a.txt", "w").write("text")
        run.save("a.txt", policy="now")
        run.finish()
        api = wandb.Api()
        assert api.viewer.username == "default"
        run = api.run("default/keys/run")
        assert run.summary["loss"] == 1
        with run.file("a.txt").download(root="down", replace=True) as f:
            assert f.read() == "text"
    """, WANDB_API_KEY=key)
    said = wandb_command(closed.uri, "login", "--host", closed.uri, "--relogin", key)
    assert "rror" not in said


def test_wrong_key(closed, script):
    said = script(closed.uri, """
        try:
            wandb.init(project="keys", settings=wandb.Settings(init_timeout=20))
            print("went through")
        except Exception as error:
            print("refused", type(error).__name__)
    """, WANDB_API_KEY="x" * 40)
    assert "refused " in said and "went through" not in said


def test_other_apis(closed):
    """The other APIs accept a key as a Bearer token and as the password of Basic authentication."""
    key = closed.command("token", "--user", "default", "--wandb", "--name", "cluster").strip()

    def status(path, authorization, body=None):
        headers = {"Content-Type": "application/json", **({"Authorization": authorization} if authorization else {})}
        try:
            with urllib.request.urlopen(urllib.request.Request(closed.uri + path, body, headers)) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def basic(name, password):
        return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()

    for path, body in (("/project", None), ("/api/2.0/mlflow/experiments/search", b'{"max_results": 1}'), ("/graphql", b'{"query": "{ viewer { id } }"}')):
        for authorization in ("Bearer " + key, basic("api", key), basic("default", key)):
            assert status(path, authorization, body) == 200, (path, authorization)
        for authorization in (None, "Bearer " + "x" * 40, basic("api", "x" * 40)):
            assert status(path, authorization, body) == 401, (path, authorization)
