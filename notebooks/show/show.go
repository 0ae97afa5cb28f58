// Package show puts figures, tables and text into a notebook's page. Its functions return outputs,
// which the kernel displays if they are the last expression of a cell.
//
//	show.Figure(figure.Lines{Title: "loss", Series: series})
//
// An error returned there makes the cell fail. Inside a cell, Display(output.Render()) displays an
// Output at once.
package show

import "maps"

// Output is something to display, in the forms of one or more MIME types.
type Output struct {
	title    string
	forms    map[string]any // by MIME type
	metadata map[string]any
}

// output returns an Output with one form besides the plain text.
func output(title, plain, mime string, form any) Output {
	return Output{title: title, forms: map[string]any{"text/plain": plain, mime: form}}
}

// Rendered is the type that the kernel accepts: forms and their metadata by MIME type.
type Rendered = struct{ Data, Metadata, Transient map[string]any }

// Render returns the forms, and the width at which to show a picture. The kernel recognises an
// Output by this method.
func (o Output) Render() Rendered {
	return Rendered{Data: maps.Clone(o.forms), Metadata: maps.Clone(o.metadata)}
}

// String returns the title, to show where no other form can be displayed.
func (o Output) String() string { return o.title }

// Check stops the cell and makes it fail if err is not nil. A cell can fail only by a panic or by
// ending with an expression that returns an error; Check is for errors before its end.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}
