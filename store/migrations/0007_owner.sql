-- The process that serves the file: the last one that has opened it as a server. A server that
-- finds another name here stops writing.
CREATE TABLE owner (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT    NOT NULL
) STRICT;
