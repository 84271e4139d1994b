package sqlite

import (
	"database/sql/driver"

	"modernc.org/sqlite"
)

// RegisterPredicate adds the function name(text, text) to the SQL of all files that
// are opened afterwards. Its result is NULL if an argument is not a text. fn must be
// deterministic, and must not keep its arguments: they are valid only during the call.
func RegisterPredicate(name string, fn func(a, b string) bool) {
	sqlite.MustRegisterFunction(name, &sqlite.FunctionImpl{
		NArgs:         2,
		Deterministic: true,
		VolatileArgs:  true, // avoids a copy, because a text can have a megabyte
		Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			a, ok := args[0].(string)
			b, both := args[1].(string)
			if !ok || !both {
				return nil, nil
			}
			return fn(a, b), nil
		},
	})
}
