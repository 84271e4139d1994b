package record

// Kind is a kind of record. It has the name of its table.
type Kind struct {
	Name string
	// Home is the query for the id of the project, the id of the container, the name of
	// the record, and whether it is in the trash.
	Home  string
	Parts []Part // the first one is the row of the record
	// Artifacts is the SQL condition for its artifacts, "" when it has none.
	Artifacts string
}

// Part is the rows of a record in one table. Its columns name other records by their
// ids, since numbers differ from one database to another.
type Part struct {
	Name    string
	Read    string   // ?1 is the id of the record
	Columns []Column // of each column of Read
	Content int      // how many of the columns, the first ones, count in a fingerprint
	Clear   string   // deletes what Write writes; ?1 is the id of the record
	Write   string   // ?1 is the id of the record, ?2 and so on are the columns
	Late    bool     // Write needs records that are copied later
	// References are the columns with the ids of records that may travel apart from
	// this one.
	References []Reference
	// Link is set when each row is a reference as a whole. A row is not removed because
	// another database does not have it.
	Link bool
	// Unlink removes the reference of a Link that can be removed; ?1 is the id of the
	// record.
	Unlink string
}

// Reference is a column with the id of another record.
type Reference struct {
	Column int
	Kind   string // iteration, or resource for an artifact
	// Owner is set when the record does not exist without the other one. Its id counts as
	// content.
	Owner bool
}

// Column is the kind of the texts in a column. The schema has rules for other types.
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
	ModelID // of a logged model
	JSON
	ContentType
	FileName // of an artifact
)

// Kinds are all kinds in the order in which records are copied: those that hold others
// come before them.
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
