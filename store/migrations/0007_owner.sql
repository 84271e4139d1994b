-- Which process may write in batches: the last one that opened the file as a
-- server. One that finds another name here stops.
CREATE TABLE owner (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT    NOT NULL
) STRICT;
