package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// place is where a mutant changes the source, and how.
type place struct {
	start, end int
	what       string
}

// editor compiles mutants into one file: each changed expression or statement asks whether its
// mutant is the active one. Lines stay where they are.
type editor struct {
	source  []byte
	files   *token.FileSet
	info    *types.Info
	numbers map[place]int
	inner   map[ast.Node]bool // initial and post statements, which cannot be wrapped
	fixed   map[ast.Node]bool // statements that cannot be changed
	edits   []edit            // by start, the outer before the inner
}

type edit struct {
	start, end int
	depth      int // 1 if it is within another edit of the same text
	node       ast.Node
	mutants    []int // by change; -1: none
	render     func(e *editor, x *edit, at int) string
	inner      bool
}

func (e *editor) offset(p token.Pos) int { return e.files.Position(p).Offset }

// number returns -1 if there is no such mutant.
func (e *editor) number(from, to token.Pos, what string) int {
	if n, ok := e.numbers[place{e.offset(from), e.offset(to), what}]; ok {
		return n
	}
	return -1
}

func (e *editor) collect(f *ast.File) {
	e.inner, e.fixed = map[ast.Node]bool{}, map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		e.visit(n)
		return true
	})
	slices.SortStableFunc(e.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.depth, b.depth))
	})
}

func (e *editor) visit(n ast.Node) {
	mark := func(s ast.Stmt) {
		if s != nil {
			e.inner[s] = true
		}
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		mark(n.Init)
		e.add(n.Cond, 0, condition, e.number(n.Cond.Pos(), n.Cond.End(), "condition is false"), e.number(n.Cond.Pos(), n.Cond.End(), "condition is true"))
	case *ast.ForStmt:
		mark(n.Init)
		mark(n.Post)
	case *ast.SwitchStmt:
		mark(n.Init)
	case *ast.TypeSwitchStmt:
		mark(n.Init)
	case *ast.CommClause:
		if n.Comm != nil {
			e.fixed[n.Comm] = true
		}
	case *ast.BinaryExpr:
		e.binary(n)
	case *ast.IncDecStmt, *ast.ExprStmt, *ast.BranchStmt:
		if !e.inner[n] && !e.fixed[n] {
			e.add(n, 0, removal, e.number(n.Pos(), n.End(), "statement removed"))
		}
	case *ast.AssignStmt:
		if !e.fixed[n] {
			e.add(n, 0, assignment, e.number(n.Pos(), n.End(), "assignment removed"))
		}
	}
}

func (e *editor) add(n ast.Node, depth int, render func(*editor, *edit, int) string, mutants ...int) {
	if slices.Max(mutants) >= 0 {
		e.edits = append(e.edits, edit{e.offset(n.Pos()), e.offset(n.End()), depth, n, mutants, render, e.inner[n]})
	}
}

func (e *editor) binary(n *ast.BinaryExpr) {
	t := e.info.Types[n]
	if t.Value != nil || t.Type == nil { // constants stay constant
		return
	}
	if basic, ok := t.Type.Underlying().(*types.Basic); ok && basic.Info()&types.IsString != 0 {
		return
	}
	var mutants []int
	for _, to := range operators[n.Op] {
		mutants = append(mutants, e.number(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), fmt.Sprintf("%s becomes %s", n.Op, to)))
	}
	if len(mutants) > 0 {
		e.add(n, 1, operation, mutants...)
	}
}

// render returns the source from start to end with the edits from number at on.
func (e *editor) render(start, end, at int) string {
	var b strings.Builder
	for ; at < len(e.edits) && e.edits[at].start < end; at++ {
		x := &e.edits[at]
		if x.start < start || x.end > end {
			continue
		}
		b.Write(e.source[start:x.start])
		b.WriteString(x.render(e, x, at+1))
		start = x.end
	}
	b.Write(e.source[start:end])
	return b.String()
}

func (e *editor) node(n ast.Node, at int) string {
	return e.render(e.offset(n.Pos()), e.offset(n.End()), at)
}

func condition(e *editor, x *edit, at int) string {
	return fmt.Sprintf("mutateCondition(%d, %d, %s)", x.mutants[0], x.mutants[1], e.render(x.start, x.end, at))
}

func removal(e *editor, x *edit, at int) string {
	return fmt.Sprintf("if !mutateIs(%d) { %s }", x.mutants[0], e.render(x.start, x.end, at))
}

// assignment of an if or for goes to a variable that nothing reads.
func assignment(e *editor, x *edit, at int) string {
	a := x.node.(*ast.AssignStmt)
	right := e.render(e.offset(a.Rhs[0].Pos()), e.offset(a.Rhs[len(a.Rhs)-1].End()), at)
	if x.inner {
		var left []string
		for _, l := range a.Lhs {
			text := e.node(l, at)
			if text != "_" {
				text = fmt.Sprintf("*mutateTarget(%d, &%s)", x.mutants[0], text)
			}
			left = append(left, text)
		}
		return strings.Join(left, ", ") + " " + a.Tok.String() + " " + right
	}
	whole := e.render(x.start, x.end, at)
	if slices.ContainsFunc(a.Rhs, isNil) { // it uses no variable, and has no type of its own
		return fmt.Sprintf("if !mutateIs(%d) { %s }", x.mutants[0], whole)
	}
	n := len(a.Rhs)
	if n == 1 {
		n = len(a.Lhs)
	}
	blanks := strings.TrimSuffix(strings.Repeat("_, ", n), ", ")
	return fmt.Sprintf("if mutateIs(%d) { %s = %s } else { %s }", x.mutants[0], blanks, right, whole)
}

func isNil(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "nil"
}

var operationNames = map[token.Token]string{
	token.ADD: "mutateAdd", token.SUB: "mutateSub", token.MUL: "mutateMul", token.QUO: "mutateQuo",
	token.SHL: "mutateShl", token.SHR: "mutateShr", token.AND: "mutateAnd", token.OR: "mutateOr",
}

// operation keeps the short circuits of conditions.
func operation(e *editor, x *edit, at int) string {
	n := x.node.(*ast.BinaryExpr)
	left, right := e.node(n.X, at), e.node(n.Y, at)
	if name := operationNames[n.Op]; name != "" {
		return fmt.Sprintf("%s(%d, %s, %s)", name, x.mutants[0], left, right)
	}
	changed, unchanged := "", ""
	for i, to := range operators[n.Op] {
		if m := x.mutants[i]; m >= 0 {
			changed += fmt.Sprintf("mutateIs(%d) && (%s %s %s) || ", m, left, to, right)
			unchanged += fmt.Sprintf("mutateNot(%d) && ", m)
		}
	}
	return fmt.Sprintf("(%s%s(%s %s %s))", changed, unchanged, left, n.Op, right)
}
