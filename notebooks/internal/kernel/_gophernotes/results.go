package main

import (
	"go/ast"
	"reflect"
	"strings"

	"github.com/cosmos72/gomacro/xreflect"
)

// settleResults returns what to show of the results of a cell's last expression. If the last result
// is an error, it makes the cell fail unless it is nil, and is not shown. The number of bytes that
// fmt.Println and similar functions return is not shown, either.
func settleResults(nodes []ast.Node, values []interface{}, types []xreflect.Type) ([]interface{}, []xreflect.Type, error) {
	last := len(values) - 1
	if last < 0 || types[last].ReflectType() != reflect.TypeFor[error]() {
		return values, types, nil
	}
	if err, ok := values[last].(error); ok {
		return nil, nil, err
	}
	if prints(nodes[len(nodes)-1]) {
		return nil, nil, nil
	}
	return values[:last], types[:last], nil
}

// prints tells whether an expression is a call such as fmt.Println(x).
func prints(expression ast.Node) bool {
	call, ok := expression.(*ast.CallExpr)
	if !ok {
		return false
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (strings.HasPrefix(function.Sel.Name, "Print") || strings.HasPrefix(function.Sel.Name, "Fprint"))
}
