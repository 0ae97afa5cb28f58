package ipynb

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"image"
	"image/png"
	"io"
	"strings"
)

// MIME types of pictures.
const (
	mimePNG = "image/png"
	mimeSVG = "image/svg+xml"
)

// checkPicture says why a picture shows nothing, "" if it shows something.
func checkPicture(mime string, value any) string {
	text, _ := value.(string)
	if mime == mimeSVG {
		return checkSVG(text)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(strings.TrimSpace(text), "\n", ""))
	if err != nil {
		return "is not base64"
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return "is not a PNG: " + err.Error()
	}
	if blank(picture) {
		return "is blank"
	}
	return ""
}

// blank tells whether a picture has only one colour.
func blank(picture image.Image) bool {
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if picture.At(x, y) != picture.At(b.Min.X, b.Min.Y) {
				return false
			}
		}
	}
	return true
}

// checkSVG requires well-formed XML, with an svg element that draws something.
func checkSVG(text string) string {
	root, draws := "", false
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "is not well-formed XML: " + err.Error()
		}
		if start, ok := token.(xml.StartElement); ok {
			if root == "" {
				root = start.Name.Local
			}
			switch start.Name.Local {
			case "path", "line", "polyline", "polygon", "circle", "text", "rect", "image":
				draws = true
			}
		}
	}
	if root != "svg" {
		return "is not an svg element"
	}
	if !draws {
		return "is blank"
	}
	return ""
}
