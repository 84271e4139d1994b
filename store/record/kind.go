package record

import (
	"regexp"
	"strconv"
	"strings"
)

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
// their ids, because numbers differ between databases. In its SQL, :record is the id of
// the record, and the other parameters have the names of the columns.
type Part struct {
	Name    string
	Columns []Column
	From    string // FROM clause of the query for the columns
	Content int    // the number of leading columns that count in a fingerprint
	Clear   string // deletes the rows that Write writes
	Write   string
	Late    bool // Write needs records that are copied later
	// References are the columns with the ids of records that may be copied without
	// this one.
	References []Reference
	// Link is set if each row as a whole is a reference. A row is not removed because
	// another database lacks it.
	Link bool
	// Unlink removes the removable reference of a Link.
	Unlink string

	read string // query for the columns
}

// Reference is a column with the id of another record.
type Reference struct {
	Column int
	Kind   string // iteration, or resource for an artifact
	// Owner is set if the record can't exist without the other one. The id of the other
	// record counts as content.
	Owner bool
}

// Column is a column that is copied.
type Column struct {
	SQL  string // its name, with AS if the parameter has another name
	Text TextKind
}

// name returns the name of the parameter for the column.
func (c Column) name() string { return c.SQL[strings.LastIndexAny(c.SQL, " .")+1:] }

// TextKind is the kind of the texts in a column. The schema checks all other types.
type TextKind int

// The kinds of texts.
const (
	Any TextKind = iota
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

func init() {
	for _, k := range Kinds {
		k.Artifacts = strings.ReplaceAll(k.Artifacts, ":record", "?1")
		for i := range k.Parts {
			k.Parts[i].number()
		}
	}
}

var parameter = regexp.MustCompile(`:[a-z_0-9]+`)

// number writes the query for the columns, and replaces the names of parameters by the numbers
// of their values.
func (p *Part) number() {
	var columns []string
	numbers := map[string]string{":record": "?1"}
	for i, c := range p.Columns {
		columns = append(columns, c.SQL)
		numbers[":"+c.name()] = "?" + strconv.Itoa(i+2)
	}
	p.read = `SELECT ` + strings.Join(columns, `, `) + ` ` + p.From
	for _, statement := range []*string{&p.read, &p.Clear, &p.Write, &p.Unlink} {
		*statement = parameter.ReplaceAllStringFunc(*statement, func(name string) string {
			number, ok := numbers[name]
			if !ok {
				panic("the table " + p.Name + " has no column " + name)
			}
			return number
		})
	}
}

// ID returns the kind of the ids of the records.
func (k *Kind) ID() TextKind {
	if k == loggedModelKind {
		return ModelID
	}
	return ID
}

func tagPart(column, owner string) Part {
	return Part{
		Name:    "tag",
		From:    `FROM tag WHERE ` + column + ` = ` + owner + ` ORDER BY created_date, id`,
		Columns: []Column{{"id", ID}, {"value", Name}, {"created_date", Any}},
		Content: 3,
		Clear:   `DELETE FROM tag WHERE ` + column + ` = ` + owner,
		Write:   `INSERT INTO tag (` + column + `, id, value, created_date) VALUES (` + owner + `, :id, :value, :created_date)`,
	}
}

func propertyPart(column, owner string) Part {
	return Part{
		Name:    "property",
		From:    `FROM property WHERE ` + column + ` = ` + owner + ` ORDER BY key`,
		Columns: []Column{{"key", Key}, {"value", Text}},
		Content: 2,
		Clear:   `DELETE FROM property WHERE ` + column + ` = ` + owner,
		Write:   `INSERT INTO property (` + column + `, key, value) VALUES (` + owner + `, :key, :value)`,
	}
}

const (
	iterationNum   = `(SELECT num FROM iteration WHERE id = :record)`
	loggedModelNum = `(SELECT num FROM logged_model WHERE id = :record)`

	wandbArtifactNum = `(SELECT num FROM wandb_artifact WHERE id = :record)`
)
