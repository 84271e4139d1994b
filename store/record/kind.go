package record

// Kind is a kind of record. Its name is also the name of its table.
type Kind struct {
	Name string
	// Home is the query for the id of the project, the id of the container, the name of
	// the record, and whether it is in the trash.
	Home  string
	Parts []Part // the first one is the row of the record
	// Artifacts is the SQL condition for its artifacts, "" if it has none.
	Artifacts string
}

// Part describes the rows of a record in one table. Its columns name other records by
// their ids, because numbers differ between databases.
type Part struct {
	Name    string
	Read    string   // ?1 is the id of the record
	Columns []Column // the kind of each column of Read
	Content int      // the number of leading columns that count in a fingerprint
	Clear   string   // deletes the rows that Write writes; ?1 is the id of the record
	Write   string   // ?1 is the id of the record, ?2 and so on are the columns
	Late    bool     // Write needs records that are copied later
	// References are the columns with the ids of records that may be copied without
	// this one.
	References []Reference
	// Link is set if each row as a whole is a reference. A row is not removed because
	// another database lacks it.
	Link bool
	// Unlink removes the removable reference of a Link; ?1 is the id of the record.
	Unlink string
}

// Reference is a column with the id of another record.
type Reference struct {
	Column int
	Kind   string // iteration, or resource for an artifact
	// Owner is set if the record can't exist without the other one. The id of the other
	// record counts as content.
	Owner bool
}

// Column is the kind of the texts in a column. The schema checks all other types.
type Column int

// The kinds of columns.
const (
	Any Column = iota
	Name
	Key
	Short
	Text
	Long // a text of some MiB
	ID
	ModelID // id of a logged model
	JSON
	ContentType
	FileName // name of an artifact
)

// Kinds holds all kinds in the order in which records are copied: containers come before
// the records in them.
var Kinds = []*Kind{projectKind, experimentKind, iterationKind, loggedModelKind, wandbArtifactKind, reportKind, modelKind, modelVersionKind}

// ID returns the kind of the column with the ids of records.
func (k *Kind) ID() Column {
	if k == loggedModelKind {
		return ModelID
	}
	return ID
}

func tagPart(column, owner string) Part {
	return Part{
		Name:    "tag",
		Read:    `SELECT id, value, created_date FROM tag WHERE ` + column + ` = ` + owner + ` ORDER BY created_date, id`,
		Columns: []Column{ID, Name, Any},
		Content: 3,
		Clear:   `DELETE FROM tag WHERE ` + column + ` = ` + owner,
		Write:   `INSERT INTO tag (` + column + `, id, value, created_date) VALUES (` + owner + `, ?2, ?3, ?4)`,
	}
}

func propertyPart(column, owner string) Part {
	return Part{
		Name:    "property",
		Read:    `SELECT key, value FROM property WHERE ` + column + ` = ` + owner + ` ORDER BY key`,
		Columns: []Column{Key, Text},
		Content: 2,
		Clear:   `DELETE FROM property WHERE ` + column + ` = ` + owner,
		Write:   `INSERT INTO property (` + column + `, key, value) VALUES (` + owner + `, ?2, ?3)`,
	}
}

const (
	iterationNum   = `(SELECT num FROM iteration WHERE id = ?1)`
	loggedModelNum = `(SELECT num FROM logged_model WHERE id = ?1)`

	wandbArtifactNum = `(SELECT num FROM wandb_artifact WHERE id = ?1)`
)
