-- Earlier versions stored the texts in the summaries of W&B's clients only in the summary itself. The
-- function wandb_summary_texts returns them as properties, by the rule for new summaries.
INSERT OR IGNORE INTO property (iteration_num, key, value)
SELECT wandb_run.iteration_num, text.key, text.value
FROM wandb_run, json_each(wandb_summary_texts(wandb_run.summary)) AS text;
