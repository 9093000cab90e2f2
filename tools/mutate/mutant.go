package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type mutant struct {
	file       string // relative to the module
	line       int
	function   string
	source     string // of the line, without space around it and comment behind it
	original   []byte // text of the file, which may change while mutants are tested
	start, end int    // bytes that are replaced
	text       string // by this
	what       string // description: "< becomes <="
}

func (m mutant) place() string { return fmt.Sprintf("%s:%d", m.file, m.line) }

// key identifies the mutant independently of line numbers.
func (m mutant) key() string {
	return strings.Join([]string{m.file, m.function, m.source, m.what}, " | ")
}

// identity names a mutant without its text.
type identity struct{ Place, What, Key string }

func (m mutant) identity() identity { return identity{m.place(), m.what, m.key()} }

var operators = map[token.Token][]token.Token{
	token.LSS:  {token.LEQ, token.GEQ},
	token.LEQ:  {token.LSS, token.GTR},
	token.GTR:  {token.GEQ, token.LEQ},
	token.GEQ:  {token.GTR, token.LSS},
	token.EQL:  {token.NEQ},
	token.NEQ:  {token.EQL},
	token.LAND: {token.LOR},
	token.LOR:  {token.LAND},
	token.ADD:  {token.SUB},
	token.SUB:  {token.ADD},
	token.MUL:  {token.ADD},
	token.QUO:  {token.MUL},
	token.SHL:  {token.SHR},
	token.SHR:  {token.SHL},
	token.AND:  {token.OR},
	token.OR:   {token.AND},
}

// findMutants changes operators, makes conditions always true or false, and removes statements.
func findMutants(dir, tags string) ([]mutant, error) {
	c := build.Default
	c.BuildTags = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
	c.CgoEnabled = false
	pkg, err := c.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, name := range pkg.GoFiles {
		path := filepath.Join(dir, name)
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(f) {
			continue
		}
		s := scanner{path: path, src: src, files: files}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				s.function = fn.Name.Name
				ast.Inspect(fn.Body, s.visit)
			}
		}
		all = append(all, s.found...)
	}
	number(all)
	return all, nil
}

// number distinguishes equal changes of equal lines, such as of the two operators in a || b ||
// c.
func number(all []mutant) {
	seen := map[string]int{}
	for i := range all {
		key := all[i].key()
		if seen[key]++; seen[key] > 1 {
			all[i].what += fmt.Sprintf(", place %d", seen[key])
		}
	}
}

type scanner struct {
	path     string
	src      []byte
	files    *token.FileSet
	function string
	found    []mutant
}

func (s *scanner) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if isCheck(n) {
			return false // a check is no behaviour
		}
		s.call(n)
		return false
	case *ast.BinaryExpr:
		if isText(n) {
			return true // strings have no difference
		}
		for _, to := range operators[n.Op] {
			s.replace(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String(), fmt.Sprintf("%s becomes %s", n.Op, to))
		}
	case *ast.IfStmt:
		s.replace(n.Cond.Pos(), n.Cond.End(), "("+s.text(n.Cond)+") && false", "condition is false")
		s.replace(n.Cond.Pos(), n.Cond.End(), "("+s.text(n.Cond)+") || true", "condition is true")
	case *ast.IncDecStmt:
		s.remove(n)
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !isCheck(call) {
			s.remove(n)
		}
	case *ast.AssignStmt:
		s.assignment(n)
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE || n.Tok == token.BREAK {
			s.remove(n)
		}
	}
	return true
}

// An assignment without a declaration is removed. Its right side stays in use, so that the
// mutant compiles, unless nothing used it before.
func (s *scanner) assignment(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE || isGrow(n.Rhs[0]) {
		return
	}
	if !slices.ContainsFunc(n.Lhs, func(x ast.Expr) bool { id, ok := x.(*ast.Ident); return !ok || id.Name != "_" }) {
		s.remove(n)
		return
	}
	blanks := strings.TrimSuffix(strings.Repeat("_, ", len(n.Rhs)), ", ")
	if len(n.Rhs) == 1 {
		blanks = strings.TrimSuffix(strings.Repeat("_, ", len(n.Lhs)), ", ")
	}
	right := string(s.src[s.offset(n.Rhs[0].Pos()):s.offset(n.Rhs[len(n.Rhs)-1].End())])
	s.replace(n.Pos(), n.End(), blanks+" = "+right, "assignment removed")
}

// Capacities of make and lengths of slices.Grow are hints and stay.
func (s *scanner) call(n *ast.CallExpr) {
	ast.Inspect(n.Fun, s.visit)
	args := n.Args
	if fun, ok := n.Fun.(*ast.Ident); ok && fun.Name == "make" {
		if _, isMap := args[0].(*ast.MapType); isMap {
			args = args[:1]
		} else {
			args = args[:min(len(args), 2)]
		}
	} else if isGrow(n) {
		args = args[:1]
	}
	for _, arg := range args {
		ast.Inspect(arg, s.visit)
	}
}

func isGrow(n ast.Expr) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == "slices" && sel.Sel.Name == "Grow"
}

// isText reports a string literal, or an operand that joins one.
func isText(n *ast.BinaryExpr) bool {
	for _, x := range []ast.Expr{n.X, n.Y} {
		switch x := x.(type) {
		case *ast.BasicLit:
			if x.Kind == token.STRING && n.Op == token.ADD {
				return true
			}
		case *ast.BinaryExpr:
			if n.Op == token.ADD && isText(x) {
				return true
			}
		}
	}
	return false
}

// Checks of package invariant are free in release builds.
func isCheck(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == "invariant"
}

func (s *scanner) remove(n ast.Node) { s.replace(n.Pos(), n.End(), "", "statement removed") }

func (s *scanner) offset(p token.Pos) int { return s.files.Position(p).Offset }

func (s *scanner) text(n ast.Node) string { return string(s.src[s.offset(n.Pos()):s.offset(n.End())]) }

func (s *scanner) replace(from, to token.Pos, text, what string) {
	at := s.files.Position(from)
	start := strings.LastIndexByte(string(s.src[:at.Offset]), '\n') + 1
	line, _, _ := strings.Cut(string(s.src[start:]), "\n")
	line, _, _ = strings.Cut(line, " // ")
	s.found = append(s.found, mutant{
		file: filepath.ToSlash(s.path), original: s.src, line: at.Line, function: s.function, source: strings.TrimSpace(line),
		start: at.Offset, end: s.offset(to), text: text, what: what,
	})
}
