// Package show puts figures, tables and text into a notebook's page: as the last expression of a
// cell the kernel displays what its functions return.
//
//	show.Figure(figure.Lines{Title: "loss", Series: series})
//
// An error that is returned there fails the cell. Inside of a cell, Display(output.Render())
// displays an Output at once.
package show

import "maps"

// Output is something to display, in the forms of one or more MIME types.
type Output struct {
	title    string
	forms    map[string]any // by MIME type
	metadata map[string]any
}

// output is an Output with one form next to the plain one.
func output(title, plain, mime string, form any) Output {
	return Output{title: title, forms: map[string]any{"text/plain": plain, mime: form}}
}

// Rendered is what the kernel takes: forms and their metadata by MIME type.
type Rendered = struct{ Data, Metadata, Transient map[string]any }

// Render returns the forms and how wide a picture is shown. The kernel knows an Output by this
// method.
func (o Output) Render() Rendered {
	return Rendered{Data: maps.Clone(o.forms), Metadata: maps.Clone(o.metadata)}
}

// String is the title, for where nothing else can be shown.
func (o Output) String() string { return o.title }

// Check stops the cell, which then has failed, if err is not nil: for errors in its midst. A
// cell has no other way to fail than to panic or to end in an expression with an error.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}
