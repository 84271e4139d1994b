package record

import (
	"regexp"
	"strconv"
	"strings"
)

// Kind describes one kind of record. Name identifies the kind in archives, in notes and to other
// servers, so Name never changes. It is the name of the table when the kind was added.
type Kind struct {
	Name string
	// Home is an SQL query for the location of a record. It returns the project id, the
	// container id, the record's name, and whether the record is in the trash.
	Home  string
	Parts []Part // the first part is the row of the record
	// Artifacts is the SQL condition for the artifacts of a record. It is "" if records of the
	// kind have no artifacts.
	Artifacts string
}

// Part describes the rows of a record in one table. Columns refer to other records by id,
// because row numbers differ between databases. The SQL parameter :record is the id of the
// record. Every other parameter has the name of a column.
type Part struct {
	Name    string
	Columns []Column
	From    string // FROM clause of the query that reads the columns
	Content int    // number of leading columns in the fingerprint
	Clear   string // statement that deletes the rows written by Write
	Write   string
	Late    bool // Write runs after all records were inserted
	// Optional is set if the part was added to an existing kind. A record without rows in the part
	// then keeps the fingerprint that it had before.
	Optional bool
	// References lists the columns with the ids of other records. A copy can include this record
	// without the other record.
	References []Reference
	// Link is set if each complete row is a reference. If only To contains such a row, the copy
	// does not delete the row.
	Link bool
	// Unlink is the statement that removes a reference. It is set only for references that a
	// user can remove.
	Unlink string

	read string // query that reads the columns
}

// Reference describes a column that holds the id of another record.
type Reference struct {
	Column int
	Kind   string // "iteration", or "resource" for an artifact
	// Owner is set if the record can't exist without the other record. The id of the other
	// record is then part of the content.
	Owner bool
}

// Column describes a column that is copied.
type Column struct {
	SQL  string // name of the column, with AS if the SQL parameter has a different name
	Text TextKind
}

// name returns the name of the SQL parameter for the column.
func (c Column) name() string { return c.SQL[strings.LastIndexAny(c.SQL, " .")+1:] }

// TextKind is the kind of text in a column. Non-text values are checked by the schema.
type TextKind int

// These are the kinds of text.
const (
	Any TextKind = iota
	Name
	Key
	Short
	Text
	Long // text of several MiB
	ID
	ModelID // id of a logged model
	JSON
	ContentType
	FileName // name of an artifact
)

// Kinds lists all kinds in the order in which records are copied. The kind of a container comes
// before the kinds of the records in it.
var Kinds = []*Kind{projectKind, experimentKind, iterationKind, loggedModelKind, artifactVersionKind, reportKind, modelKind, modelVersionKind}

func init() {
	for _, k := range Kinds {
		k.Artifacts = strings.ReplaceAll(k.Artifacts, ":record", "?1")
		for i := range k.Parts {
			k.Parts[i].number()
		}
	}
}

var parameter = regexp.MustCompile(`:[a-z_0-9]+`)

// number builds the query p.read. It also replaces the names of SQL parameters with their
// numbers.
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

// ID returns the TextKind of the record ids.
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

	artifactVersionNum = `(SELECT num FROM artifact_version WHERE id = :record)`
)
