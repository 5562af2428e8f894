" Written by editor/highlighting.py.
if exists('b:current_syntax') | finish | endif
syntax keyword rxKeyword as assert checkpoint const else extern fn for grad if import in inline jvp let prim private stack type vjp where while with wrt
syntax keyword rxBoolean false true
syntax keyword rxType Bool DType Shape Size Tensor bfloat16 bool complex128 complex64 float16 float32 float4_e2m1fn float64 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int16 int2 int32 int4 int64 int8 string uint16 uint2 uint32 uint4 uint64 uint8
syntax match rxComment /#.*$/ contains=@Spell
syntax region rxString start=/"/ skip=/\\./ end=/"/ oneline
syntax match rxNumber /\<[0-9][0-9_]*\(\.[0-9_]\+\)\?\([eE][+-]\?[0-9]\+\)\?\>/
syntax match rxFunction /@[A-Za-z_][A-Za-z0-9_.']*/
highlight default link rxKeyword Keyword
highlight default link rxBoolean Boolean
highlight default link rxType Type
highlight default link rxComment Comment
highlight default link rxString String
highlight default link rxNumber Number
highlight default link rxFunction Function
let b:current_syntax = 'rx'
