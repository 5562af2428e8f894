-- What docs/editors.md tells users of Neovim to set, tried in a headless Neovim: nvim --headless --clean -l neovim.lua INIT FOLDER

local init, folder = arg[1], arg[2]
local text = [[
@wrong = fn(x : Tensor([n, 3], float32), w : Tensor([5, 3], float32)) : Tensor([n, 5], float32) {
    let y = @relu(x)
  @matmul(y, w)
}
]]
local file = folder .. "/wrong.rx"

local function shows(what, found)
  if not vim.wait(60000, found, 50) then
    error("Neovim does not show " .. what, 0)
  end
  print("ok: " .. what)
end

local function lines() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n") end
local function has(part) return function() return lines():find(part, 1, true) ~= nil end end
local function at(line, part)
  local column = vim.fn.getline(line):find(part, 1, true)
  vim.api.nvim_win_set_cursor(0, { line, column - 1 })
end

local function floating(part)
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      local buffer = vim.api.nvim_win_get_buf(window)
      if table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n"):find(part, 1, true) then
        return true
      end
    end
  end
  return false
end

local function hint(part)
  for _, found in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
    local label = found.inlay_hint.label
    local shown = type(label) == "string" and label or vim.iter(label):map(function(p) return p.value end):join("")
    if shown:find(part, 1, true) then return true end
  end
  return false
end

dofile(init)
vim.fn.writefile(vim.split(text, "\n", { trimempty = true }), file)
vim.cmd.edit(file)
assert(vim.bo.filetype == "rx", "the file type is not rx")

shows("the diagnostic of the file", function()
  local found = vim.diagnostic.get(0)
  return #found == 1 and found[1].code == "E305" and found[1].lnum == 2
end)
shows("the hint with an inferred shape", function() return hint("Tensor([n, 3], float32)") end)

at(2, "y")
vim.lsp.buf.hover()
shows("the hover", function() return floating("Tensor([n, 3], float32)") end)

vim.lsp.buf.rename("rows")
shows("the new name in both places", function() return has("let rows = ")() and has("@matmul(rows, w)")() end)

shows("the diagnostic of the renamed file", function()
  local found = vim.diagnostic.get(0)
  return #found == 1 and vim.fn.getline(3):find("rows") ~= nil
end)
at(3, "@matmul")
vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.isPreferred end })
shows("the fix", has("@matmul(rows, @matrix_transpose(w))"))
shows("nothing wrong behind the fix", function() return #vim.diagnostic.get(0) == 0 end)

vim.lsp.buf.format({ timeout_ms = 60000 })
shows("the layout", has("\n  let rows = @relu(x)\n"))

assert(vim.fn.synIDattr(vim.fn.synID(2, 3, 1), "name") == "rxKeyword", "`let` has no colour of editors/vim")
print("ok: the colours of editors/vim")
vim.cmd("qall!")
