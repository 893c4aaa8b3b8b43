# Completion of ksched for PowerShell; `ksched completion powershell` prints it.
Register-ArgumentCompleter -Native -CommandName ksched, kubectl-ksched -ScriptBlock {
    param($current, $ast, $position)
    $typed = @()
    foreach ($element in $ast.CommandElements | Select-Object -Skip 1) {
        if ($element.Extent.EndOffset -ge $position) { break }
        $typed += $element.ToString()
    }
    & $ast.CommandElements[0].ToString() __complete --typing=$current @typed | Where-Object { $_ -notlike ':*' } |
        ForEach-Object { ($_ -split "`t")[0] }
}
