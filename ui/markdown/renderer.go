package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// htmlRenderer writes HTML to an output.
var htmlRenderer = renderer.NewRenderer(renderer.WithNodeRenderers(
	util.Prioritized(metered{html.NewRenderer()}, 1000),
	// The content security policy forbids style attributes.
	util.Prioritized(metered{extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))}, 500),
	util.Prioritized(metered{extension.NewStrikethroughHTMLRenderer()}, 500),
	util.Prioritized(metered{ownRenderer{}}, 1),
))

// metered stops rendering when a limit is exceeded.
type metered struct{ renderer.NodeRenderer }

// RegisterFuncs implements renderer.NodeRenderer.
func (m metered) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	m.NodeRenderer.RegisterFuncs(meteredRegisterer{r})
}

type meteredRegisterer struct {
	renderer.NodeRendererFuncRegisterer
}

func (r meteredRegisterer) Register(kind ast.NodeKind, write renderer.NodeRendererFunc) {
	r.NodeRendererFuncRegisterer.Register(kind, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		m := w.(*output).meter
		if !m.spend(nodeWork(n)) {
			return ast.WalkStop, m.err
		}
		return write(w, source, n, entering)
	})
}

// nodeWork returns one plus the length of the text that the renderer escapes for n. A text can
// use the same link definition many times.
func nodeWork(n ast.Node) int {
	switch n := n.(type) {
	case *ast.Link:
		return 1 + len(n.Destination) + len(n.Title)
	case *ast.Image:
		return 1 + len(n.Destination) + len(n.Title)
	}
	return 1
}

// ownRenderer replaces goldmark's HTML for images and task check boxes.
type ownRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (ownRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, writeImage)
	r.Register(extensionast.KindTaskCheckBox, writeTask)
}

// writeImage writes a link to the image instead of the image.
func writeImage(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	address := util.URLEscape(n.(*ast.Image).Destination, true)
	if html.IsDangerousURL(address) {
		return ast.WalkContinue, nil
	}
	if entering {
		w.WriteString(`<a href="`)
		w.Write(util.EscapeHTML(address))
		w.WriteString(`">`)
	} else {
		w.WriteString(`</a>`)
	}
	return ast.WalkContinue, nil
}

// writeTask writes a disabled check box with a label for screen readers.
func writeTask(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering && n.(*extensionast.TaskCheckBox).IsChecked {
		w.WriteString(`<input type="checkbox" disabled checked aria-label="done"> `)
	} else if entering {
		w.WriteString(`<input type="checkbox" disabled aria-label="open"> `)
	}
	return ast.WalkContinue, nil
}
