-- The audit trail: who changed rights, accounts and keys, deleted, restored or exported records, and
-- signed in. Entries hold names, so that they remain when the account or the record is deleted. "" means
-- that a value is unknown or does not apply. source is account, open (sign-in is off), visitor (somebody
-- who is not signed in), command (the command line) or server. count is greater than 1 if the entry
-- stands for several equal events.
CREATE TABLE audit (
    num       INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    source    TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    record_id TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    detail    TEXT    NOT NULL,
    count     INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_record ON audit (record_id, num) WHERE record_id <> '';

-- Entries never change. Entries of the last 30 days before the newest one can't be deleted.
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN
    SELECT raise(ABORT, 'entries of the audit trail can not be changed');
END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN OLD.at > (SELECT at FROM audit ORDER BY num DESC LIMIT 1) - 30 * 86400000
BEGIN
    SELECT raise(ABORT, 'entries of the audit trail can not be deleted before 30 days have passed');
END;
