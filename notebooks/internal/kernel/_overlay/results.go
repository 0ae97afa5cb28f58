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
func settleResults(s *session, nodes []ast.Node, values []interface{}, types []xreflect.Type) ([]interface{}, []xreflect.Type, error) {
	last := len(values) - 1
	if last < 0 || types[last].ReflectType() != reflect.TypeFor[error]() {
		return values, types, nil
	}
	if err, ok := values[last].(error); ok {
		return nil, nil, s.failureAt(err.Error(), nodes[len(nodes)-1].Pos())
	}
	if prints(nodes) {
		return nil, nil, nil
	}
	return values[:last], types[:last], nil
}

// prints tells whether a cell ends with a call such as fmt.Println(x).
func prints(nodes []ast.Node) bool {
	if len(nodes) == 0 {
		return false
	}
	call, ok := nodes[len(nodes)-1].(*ast.CallExpr)
	if !ok {
		return false
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (strings.HasPrefix(function.Sel.Name, "Print") || strings.HasPrefix(function.Sel.Name, "Fprint"))
}
