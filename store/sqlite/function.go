package sqlite

import (
	"database/sql/driver"

	"modernc.org/sqlite"
)

// RegisterPredicate adds the SQL function name(text, text) to all files that are opened later.
// The SQL function returns the result of fn, or NULL if an argument is not text.
//
// fn must be deterministic. It must not retain its arguments, which are valid only during the
// call.
func RegisterPredicate(name string, fn func(a, b string) bool) {
	sqlite.MustRegisterFunction(name, &sqlite.FunctionImpl{
		NArgs:         2,
		Deterministic: true,
		VolatileArgs:  true, // avoid a copy, because a string can be a megabyte long
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

// RegisterText adds the SQL function name(text) to all files that are opened later. The SQL function
// returns the result of fn, or NULL if the argument is not text. fn must be deterministic.
func RegisterText(name string, fn func(string) string) {
	sqlite.MustRegisterDeterministicScalarFunction(name, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		text, ok := args[0].(string)
		if !ok {
			return nil, nil
		}
		return fn(text), nil
	})
}
