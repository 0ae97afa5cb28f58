package kernel

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// patch is one change of a file: the text old, which stands there exactly once, becomes new.
type patch struct {
	file, old, new string
	why            string
}

// gophernotesPatches make gophernotes start on Go 1.26, behave in notebooks that are checked, tell
// where a cell has failed, stop a cell and keep its variables, and answer what an editor asks.
// The functions that they call stand in _overlay.
func gophernotesPatches() []patch { return slices.Concat(basics(), requests(), failures()) }

func basics() []patch {
	return []patch{
		{"x_package.go", "JSON_  func(interface{}) string", "JSON_  func(interface{}) map[string]interface{}",
			"gomacro refuses a proxy whose methods are not the interface's"},
		{"x_package.go", "func (P *proxy_JSONer) JSON() string {", "func (P *proxy_JSONer) JSON() map[string]interface{} {",
			"the same"},
		{"kernel.go", "\tir := interp.New()\n", "\tir := newInterpreter()\n",
			"gomacro would ask the go command for packages that it has tables of"},
		{"kernel.go", "\tnodes := compiler.ParseBytes([]byte(code))\n", "\tnodes := compiler.ParseBytes([]byte(code))\n\trefuseMissingImports(compiler, nodes)\n",
			"gomacro would fetch and compile other packages outside of the build folder"},
		{"kernel.go", "\t\t\treturn values, types, nil\n", "\t\t\treturn settleResults(s, nodes, values, types)\n",
			"a cell whose last expression returns an error fails; what fmt.Println returns is not shown"},
		{"main.go", "\trunKernel(flag.Arg(0))\n", "\tstart(flag.Arg(0))\n",
			"the argument check tries out tables and patches"},
	}
}

// requests are the patches by which the kernel answers requests while a cell runs, and more of
// them.
func requests() []patch {
	const session = "requests are served while a cell runs"
	return []patch{
		{"kernel.go", "\trender map[string]xreflect.Type\n}\n", "\trender map[string]xreflect.Type\n\tsession *session\n}\n", session},
		{"kernel.go", "\tgo poll(shell, sockets.ShellSocket.Socket)\n\tgo poll(stdin, sockets.StdinSocket.Socket)\n\tgo poll(ctl, sockets.ControlSocket.Socket)\n",
			"\t_ = poll // serve receives\n", session},
		{"kernel.go", "\t\tnil,\n\t}\n\tkernel.initRenderers()\n", "\t\tnil,\n\t\tnewSession(ir),\n\t}\n\tkernel.initRenderers()\n\tkernel.serve(sockets)\n", session},
		{"kernel.go", "\tcase \"shutdown_request\":\n", "\tcase \"interrupt_request\":\n\t\tkernel.answerInterrupt(receipt)\n\tcase \"inspect_request\":\n\t\tkernel.answerInspect(receipt)\n\tcase \"shutdown_request\":\n", session},
		{"kernel.go", "\t\tif err := handleCompleteRequest(ir, receipt); err != nil {\n\t\t\tlog.Fatal(err)\n\t\t}\n", "\t\tkernel.answerComplete(receipt)\n",
			"Jupyter counts characters"},
		{"kernel.go", "\tir := kernel.ir\n\n\tswitch receipt.Msg", "\tswitch receipt.Msg", "it is not used any more"},
		{"kernel.go", "\tdisplayPlace.Set(xreflect.ValueOf(receipt.PublishDisplayData))\n", "\tdisplayPlace.Set(xreflect.ValueOf(kernel.session.display(&receipt, printed)))\n",
			"what is displayed can change in its place"},
		{"kernel.go", "\t\tio.Copy(&jupyterStdOut, rOut)\n", "\t\tio.Copy(printed, rOut)\n", "what is displayed stands below what was printed before"},
		{"kernel.go", "\touterr := OutErr{&jupyterStdOut, &jupyterStdErr}\n", "\touterr := OutErr{&jupyterStdOut, &jupyterStdErr}\n\tprinted := newStdout(&jupyterStdOut, wOut)\n", "the same"},
		{"kernel.go", "\tcmd := exec.Command(args[0], args[1:]...)\n", "\tcmd := exec.CommandContext(s.context(), args[0], args[1:]...)\n", "an interrupt ends the command"},
		{"kernel.go", "\terr = cmd.Wait()\n", "\twritersWG.Wait()\n\terr = cmd.Wait()\n", "Wait closes the pipes: what was not read until then would be lost"},
		{"kernel.go", "func evalShellCommand(ir *interp.Interp,", "func evalShellCommand(s *session,", "the same"},
		{"kernel.go", "\t\t\t\tevalShellCommand(ir, outerr, line)\n", "\t\t\t\tevalShellCommand(s, outerr, line)\n", "the same"},
		{"kernel.go", "func evalSpecialCommands(ir *interp.Interp,", "func evalSpecialCommands(s *session,", "the same"},
		{"kernel.go", "\t\t\t\tevalSpecialCommand(ir, outerr, line)\n", "\t\t\t\tevalSpecialCommand(s.ir, outerr, line)\n", "the same"},
	}
}

// failures are the patches by which an error tells its line.
func failures() []patch {
	const failures = "an error tells its line"
	return []patch{
		{"kernel.go", "func doEval(ir *interp.Interp,", "func doEval(s *session,", failures},
		{"kernel.go", ":= doEval(ir, outerr, code)\n", ":= doEval(kernel.session, outerr, code)\n", failures},
		{"kernel.go", "\t\t\tvar ok bool\n\t\t\tif err, ok = r.(error); !ok {\n\t\t\t\terr = errors.New(fmt.Sprint(r))\n\t\t\t}\n",
			"\t\t\terr = s.compileFailure(r)\n", failures},
		{"kernel.go", "\t\"errors\"\n", "", "it is not used any more"},
		{"kernel.go", "\tcode = evalSpecialCommands(ir, outerr, code)\n", "\tir := s.ir\n\ts.open(ExecCounter, code)\n\tcode = evalSpecialCommands(s, outerr, code)\n", failures},
		{"kernel.go", "\tresults, types := ir.RunExpr(compiledSrc)\n", "\tresults, types, failed := ir.RunCell(compiledSrc, s.stopped)\n\tif failed != nil {\n\t\treturn nil, nil, s.runFailure(failed)\n\t}\n", failures},
		{"kernel.go", "\t\tcontent[\"traceback\"] = nil\n", "\t\tcontent[\"traceback\"] = traceback(executionErr)\n\t\tkernel.session.noteFailure()\n", failures},
		{"kernel.go", "executionErr.Error(), []string{executionErr.Error()})", "executionErr.Error(), traceback(executionErr))", failures},
	}
}

// gomacroPatches remember where code fails, stop it at once when it is interrupted (files of _fast),
// and let interpreted code use compiled types that refer to themselves, such as
// []*gorgonia.Node: while it describes Node, gomacro takes pointers to it, slices and maps of it
// for unknown (xreflect.Forward), though reflection knows them exactly.
func gomacroPatches() []patch {
	return slices.Concat(selfReference(), positions(), interrupts())
}

func selfReference() []patch {
	const file, why = "xreflect/fromreflect.go", "compiled types that refer to themselves"
	const cleaned = "\tif true || v.rebuild() { // rtype may be named... clean it\n"
	return []patch{
		{file, cleaned + "\t\trtype = r.SliceOf(e.approxReflectType())\n\t}\n\treturn v.maketype(types.NewSlice(e.gtype), rtype, e.option)\n",
			"\tif v.rebuild() {\n\t\trtype = r.SliceOf(e.approxReflectType())\n\t} else {\n\t\trtype = r.SliceOf(rtype.Elem())\n\t}\n" +
				"\treturn v.maketype(types.NewSlice(e.gtype), rtype, e.option&^OptIncomplete)\n", why},
		{file, cleaned + "\t\trtype = r.MapOf(k.approxReflectType(), e.approxReflectType())\n\t}\n",
			"\tif v.rebuild() {\n\t\trtype = r.MapOf(k.approxReflectType(), e.approxReflectType())\n\t} else {\n\t\trtype = r.MapOf(rtype.Key(), rtype.Elem())\n\t}\n", why},
		{file, "\t\tk.option|e.option)\n", "\t\t(k.option|e.option)&^OptIncomplete)\n", why},
		{file, "\t\topt = e.option\n", "\t\topt = e.option &^ OptIncomplete\n", why},
	}
}

// positions are the patches by which gomacro remembers where code fails.
func positions() []patch {
	const why = "an error tells its line"
	return []patch{
		{"fast/global.go", "\tDebugDepth   int // depth of function to debug with single-step\n",
			"\tDebugDepth   int // depth of function to debug with single-step\n\tat           token.Pos\n\tfailed       []token.Pos\n", why},
		{"fast/compile.go", "\tcase 1:\n\t\treturn c.compileDecl(decls[0])\n\tdefault:\n\t\t// sorter.All()", "\tdefault:\n\t\t// sorter.All()", why},
		{"fast/compile.go", "\t\t\t\texprs = append(exprs, e)\n", "\t\t\t\texprs = append(exprs, markPosition(decl.Pos), e)\n", why},
		{"fast/code.go", "\t\t\trun.Panic = recover()\n", "\t\t\trun.Panic = recover()\n\t\t\trun.noteFailure()\n", why},
		{"fast/code.go", "\t\t\tpanicking = maybeRepanic(run)\n", "\t\t\tpanicking = maybeRepanic(run)\n\t\t\trun.failed = nil\n", why},
		{"fast/code.go", "\tif stmt == nil || !run.Signals.IsEmpty() {\n\t\tgoto signal\n\t}\n",
			"\tdefer func() {\n\t\tif panicking {\n\t\t\trun.noteFailure()\n\t\t}\n\t}()\n\tif stmt == nil || !run.Signals.IsEmpty() {\n\t\tgoto signal\n\t}\n", why},
	}
}

// interrupts are the patches by which gomacro looks for an interrupt after each of a loop's first
// thousand statements, and not after every fifteenth: where these call long functions, it shall
// not make fourteen more such calls. Loops that have come further run as fast as ever.
func interrupts() []patch {
	const why = "an interrupt stops a cell at its next statement"
	return []patch{
		{"fast/code.go", "\t\tfor j := 0; j < 5; j++ {\n\t\t\tif stmt, env = stmt(env); stmt != nil {\n",
			"\t\tfor range 1000 {\n\t\t\tif stmt, env = stmt(env); stmt == nil || !run.Signals.IsEmpty() {\n\t\t\t\tgoto finish\n\t\t\t}\n\t\t}\n" +
				"\t\tfor j := 0; j < 5; j++ {\n\t\t\tif stmt, env = stmt(env); stmt != nil {\n", why},
		{"fast/code.go", "\tfor j := 0; j < 5; j++ {\n\t\tif stmt, env = stmt(env); stmt != nil {\n",
			"\tfor range 1000 {\n\t\tif stmt, env = stmt(env); stmt != nil && run.Signals.IsEmpty() {\n\t\t\tcontinue\n\t\t}\n" +
				"\t\tif stmt != nil && run.Signals.IsEmpty() { // never\n", why},
	}
}

// applyPatches changes files in place.
func applyPatches(files map[string]string, patches []patch) error {
	for _, p := range patches {
		text, there := files[p.file]
		if !there {
			return errors.Errorf("no file %s; adapt notebooks/internal/kernel/patch.go", p.file)
		}
		if n := strings.Count(text, p.old); n != 1 {
			return errors.Errorf("%s: want %q once, found it %d times; adapt notebooks/internal/kernel/patch.go (%s)", p.file, strings.TrimSpace(p.old), n, p.why)
		}
		files[p.file] = strings.Replace(text, p.old, p.new, 1)
	}
	return nil
}
