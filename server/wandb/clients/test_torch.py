"""Tests of libraries that call the client: Hugging Face's Trainer, Lightning, accelerate, and TensorBoard's writer. They
need PyTorch."""

import pytest


def test_hugging_face(server, script):
    script(server.uri, """
        import torch
        from transformers import Trainer, TrainingArguments
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 32
            def __getitem__(self, i): return {"x": torch.ones(4) * i / 32, "labels": torch.tensor(float(i))}
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(4, 1)
            def forward(self, x, labels=None):
                out = self.line(x).squeeze(-1)
                return {"loss": ((out - labels) ** 2).mean(), "logits": out}
        args = TrainingArguments("out", report_to="wandb", run_name="hf", max_steps=10, logging_steps=2, eval_strategy="steps", eval_steps=5,
                                 per_device_train_batch_size=4, save_strategy="no", use_cpu=True, disable_tqdm=True)
        Trainer(Model(), args, train_dataset=Data(), eval_dataset=Data()).train()
        wandb.finish()
    """, WANDB_PROJECT="hf", WANDB_WATCH="false")
    run = server.runs("hf")["hf"]
    points = server.points(run)
    assert run["status"] == "SUCCEEDED"
    assert [v for _, v in points["train/global_step"]][:5] == [2, 4, 5, 6, 8]
    assert len(points["train/loss"]) == 5 and len(points["eval/loss"]) == 2
    assert server.params(run)["per_device_train_batch_size"] == "4"


def test_lightning(server, script):
    script(server.uri, """
        import torch, lightning
        from lightning.pytorch.loggers import WandbLogger
        class Model(lightning.LightningModule):
            def __init__(self, rate=0.1):
                super().__init__()
                self.save_hyperparameters()
                self.line = torch.nn.Linear(4, 1)
            def training_step(self, batch, i):
                loss = self.line(batch[0]).square().mean()
                self.log("loss", loss)
                return loss
            def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=self.hparams.rate)
        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(40, 4)), batch_size=4)
        logger = WandbLogger(project="lightning", name="pl", id="pl", log_model=False)
        trainer = lightning.Trainer(max_epochs=2, logger=logger, log_every_n_steps=5, enable_progress_bar=False, enable_model_summary=False,
                                    enable_checkpointing=False, accelerator="cpu")
        trainer.fit(Model(), data)
        wandb.finish()
    """)
    run = server.runs("lightning")["pl"]
    points = server.points(run)
    assert run["status"] == "SUCCEEDED" and server.params(run)["rate"] == "0.1"
    assert len(points["loss"]) == 4 and [v for _, v in points["trainer/global_step"]] == [4, 9, 14, 19]


def test_accelerate(server, script):
    script(server.uri, """
        from accelerate import Accelerator
        accelerator = Accelerator(log_with="wandb", cpu=True)
        accelerator.init_trackers("accelerate", config={"rate": 0.1}, init_kwargs={"wandb": {"id": "acc", "name": "acc"}})
        for i in range(10):
            accelerator.log({"loss": 1 / (i + 1)}, step=i)
        accelerator.end_training()
    """)
    run = server.runs("accelerate")["acc"]
    assert run["status"] == "SUCCEEDED" and server.params(run) == {"rate": "0.1"}
    assert server.points(run)["loss"] == [(i, 1 / (i + 1)) for i in range(10)]


def test_tensorboard(server, script):
    script(server.uri, """
        run = wandb.init(project="tensorboard", name="tb", id="tb", sync_tensorboard=True)
        from torch.utils.tensorboard import SummaryWriter
        writer = SummaryWriter("logs")
        for i in range(20):
            writer.add_scalar("train/loss", 1 / (i + 1), i)
        writer.close()
        run.finish()
    """)
    points = server.points(server.runs("tensorboard")["tb"])
    assert [v for _, v in points["train/loss"]] == [pytest.approx(1 / (i + 1), rel=1e-5) for i in range(20)]
