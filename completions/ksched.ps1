# Completion of ksched for PowerShell; `ksched completion powershell` prints it.
Register-ArgumentCompleter -Native -CommandName ksched, kubectl-ksched -ScriptBlock {
    param($current, $ast, $position)
    $words = @{
        '' = @('simulate', 'capacity', 'drain', 'diff', 'check', 'explain-code', 'explain', 'snapshot', 'demo', 'verify', 'report', 'watch', 'plugins', 'completion', 'versions', 'version', 'help', 'scenario', 'config', '-h', '--help')
        'simulate' = @('--from', '-f', '--filename', '-n', '--namespace', '-R', '--recursive', '--exclude', '--stdin-filename', '--allow-empty', '--pod-template', '--create-namespace', '--assume-namespace', '-k', '--kustomize', '--helm', '--values', '--strict', '--no-strict', '-A', '--all-namespaces', '-l', '--selector', '--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--config', '--kube-version', '--feature-gates', '--plugin', '--tie-break', '--seed', '--sampling', '--allow-extenders', '--no-reuse', '--add-node', '--clone-node', '--remove-node', '--uncordon', '--cordon', '--label', '--taint', '--drain', '--delete', '--scale', '--scenario', '--settle', '--max-time', '--max-cycles', '-o', '--output', '--detail', '--timings', '--exit-zero', '--fail-on', '--no-headers', '-h', '--help')
        'capacity' = @('--from', '-f', '--filename', '-n', '--namespace', '-R', '--recursive', '--exclude', '--stdin-filename', '--allow-empty', '--pod-template', '--create-namespace', '--assume-namespace', '-k', '--kustomize', '--helm', '--values', '--strict', '--no-strict', '--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--config', '--kube-version', '--feature-gates', '--plugin', '--tie-break', '--seed', '--sampling', '--allow-extenders', '--no-reuse', '--add-node', '--clone-node', '--remove-node', '--uncordon', '--cordon', '--label', '--taint', '--drain', '--delete', '--scale', '--scenario', '--mix', '--max', '--ignore-pending', '-o', '--output', '--exit-zero', '--no-headers', '-h', '--help')
        'drain' = @('--from', '-f', '--filename', '-n', '--namespace', '-R', '--recursive', '--exclude', '--stdin-filename', '--allow-empty', '--pod-template', '--create-namespace', '--assume-namespace', '-k', '--kustomize', '--helm', '--values', '--strict', '--no-strict', '--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--config', '--kube-version', '--feature-gates', '--plugin', '--tie-break', '--seed', '--sampling', '--allow-extenders', '--no-reuse', '--add-node', '--clone-node', '--remove-node', '--uncordon', '--cordon', '--label', '--taint', '--drain', '--delete', '--scale', '--scenario', '-l', '--selector', '--each', '--force', '--ignore-daemonsets', '--delete-emptydir-data', '--pod-selector', '--ignore-pending', '-o', '--output', '--exit-zero', '--no-headers', '-h', '--help')
        'diff' = @('--from', '-f', '--filename', '-n', '--namespace', '-R', '--recursive', '--exclude', '--stdin-filename', '--allow-empty', '--pod-template', '--create-namespace', '--assume-namespace', '-k', '--kustomize', '--helm', '--values', '--strict', '--no-strict', '-A', '--all-namespaces', '-l', '--selector', '--to', '--to-config', '--to-kube-version', '--to-feature-gates', '--to-filename', '--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--config', '--kube-version', '--feature-gates', '--plugin', '--tie-break', '--seed', '--sampling', '--allow-extenders', '--no-reuse', '--add-node', '--clone-node', '--remove-node', '--uncordon', '--cordon', '--label', '--taint', '--drain', '--delete', '--scale', '--scenario', '-o', '--output', '--expect-no-change', '--exit-zero', '-h', '--help')
        'check' = @('--from', '-f', '--filename', '-n', '--namespace', '-R', '--recursive', '--exclude', '--stdin-filename', '--allow-empty', '--pod-template', '--create-namespace', '--assume-namespace', '-k', '--kustomize', '--helm', '--values', '--strict', '--no-strict', '-A', '--all-namespaces', '-l', '--selector', '--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--config', '--kube-version', '--feature-gates', '--plugin', '--tie-break', '--seed', '--sampling', '--allow-extenders', '--no-reuse', '--add-node', '--clone-node', '--remove-node', '--uncordon', '--cordon', '--label', '--taint', '--drain', '--delete', '--scale', '--scenario', '--ignore', '--baseline', '--write-baseline', '-o', '--output', '--restart', '--replicas', '--exit-zero', '--fail-on', '-h', '--help')
        'explain-code' = @('-o', '--output', '-h', '--help')
        'explain' = @('--from', '-f', '--filename', '-n', '--namespace', '-R', '--recursive', '--exclude', '--stdin-filename', '--allow-empty', '--pod-template', '--create-namespace', '--assume-namespace', '-k', '--kustomize', '--helm', '--values', '--strict', '--no-strict', '-A', '--all-namespaces', '-l', '--selector', '--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--config', '--kube-version', '--feature-gates', '--plugin', '--tie-break', '--seed', '--sampling', '--allow-extenders', '--no-reuse', '--add-node', '--clone-node', '--remove-node', '--uncordon', '--cordon', '--label', '--taint', '--drain', '--delete', '--scale', '--scenario', '--node', '--no-fixes', '-o', '--output', '--exit-zero', '--no-headers', '-h', '--help')
        'snapshot' = @('--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--from', '-o', '--output', '--redact', '--redact-names', '--config', '--redact-config', '-h', '--help')
        'demo' = @('--kube-version', '-o', '--output', '--detail', '-h', '--help')
        'verify' = @('--from', '-n', '--namespace', '-A', '--all-namespaces', '-l', '--selector', '--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--config', '--kube-version', '--feature-gates', '--plugin', '--tie-break', '--seed', '--sampling', '--allow-extenders', '--no-reuse', '-o', '--output', '--exit-zero', '-h', '--help')
        'report' = @('-o', '--output', '-h', '--help')
        'watch' = @('--from', '-f', '--filename', '-n', '--namespace', '-R', '--recursive', '--exclude', '--stdin-filename', '--allow-empty', '--pod-template', '--create-namespace', '--assume-namespace', '-k', '--kustomize', '--helm', '--values', '--strict', '--no-strict', '-A', '--all-namespaces', '-l', '--selector', '--context', '--kubeconfig', '--as', '--as-group', '--request-timeout', '--config', '--kube-version', '--feature-gates', '--plugin', '--tie-break', '--seed', '--sampling', '--allow-extenders', '--no-reuse', '-o', '--output', '--for', '--count', '-h', '--help')
        'plugins' = @('--kube-version', '--feature-gates', '--plugin', '-o', '--output', '-h', '--help')
        'completion' = @('bash', 'zsh', 'fish', 'powershell', '-h', '--help')
        'versions' = @('-o', '--output', '-h', '--help')
        'version' = @('-h', '--help')
        'help' = @('-h', '--help')
        'scenario' = @('validate', 'schema', '-h', '--help')
        'scenario validate' = @('-h', '--help')
        'scenario schema' = @('-h', '--help')
        'config' = @('view', 'validate', 'migrate', 'schema', '-h', '--help')
        'config view' = @('--config', '--kube-version', '--feature-gates', '--plugin', '-o', '--output', '-h', '--help')
        'config validate' = @('--kube-version', '--feature-gates', '--plugin', '-h', '--help')
        'config migrate' = @('--to', '--kube-version', '--feature-gates', '--plugin', '-o', '--output', '-h', '--help')
        'config schema' = @('--kube-version', '-h', '--help')
    }
    $values = @{
        'simulate --tie-break' = @('name', 'random')
        'simulate -o' = @('table', 'wide', 'json', 'yaml', 'name', 'html')
        'simulate --output' = @('table', 'wide', 'json', 'yaml', 'name', 'html')
        'simulate --detail' = @('summary', 'nodes', 'full')
        'simulate --fail-on' = @('preemption', 'warning')
        'capacity --tie-break' = @('name', 'random')
        'capacity -o' = @('table', 'wide', 'json', 'yaml', 'name')
        'capacity --output' = @('table', 'wide', 'json', 'yaml', 'name')
        'drain --tie-break' = @('name', 'random')
        'drain --each' = @('node', 'zone')
        'drain -o' = @('table', 'wide', 'json', 'yaml', 'name')
        'drain --output' = @('table', 'wide', 'json', 'yaml', 'name')
        'diff --tie-break' = @('name', 'random')
        'diff -o' = @('table', 'wide', 'json', 'yaml', 'markdown')
        'diff --output' = @('table', 'wide', 'json', 'yaml', 'markdown')
        'check --tie-break' = @('name', 'random')
        'check -o' = @('table', 'wide', 'json', 'yaml', 'markdown', 'github', 'junit', 'sarif')
        'check --output' = @('table', 'wide', 'json', 'yaml', 'markdown', 'github', 'junit', 'sarif')
        'check --replicas' = @('min', 'current', 'max', 'all')
        'check --fail-on' = @('preemption', 'warning')
        'explain-code -o' = @('table', 'json', 'yaml')
        'explain-code --output' = @('table', 'json', 'yaml')
        'explain --tie-break' = @('name', 'random')
        'explain -o' = @('table', 'wide', 'json', 'yaml', 'name')
        'explain --output' = @('table', 'wide', 'json', 'yaml', 'name')
        'demo -o' = @('table', 'wide', 'json', 'yaml', 'name', 'html')
        'demo --output' = @('table', 'wide', 'json', 'yaml', 'name', 'html')
        'demo --detail' = @('summary', 'nodes', 'full')
        'verify --tie-break' = @('name', 'random')
        'verify -o' = @('table', 'wide', 'json', 'yaml', 'name')
        'verify --output' = @('table', 'wide', 'json', 'yaml', 'name')
        'report -o' = @('html')
        'report --output' = @('html')
        'watch --tie-break' = @('name', 'random')
        'watch -o' = @('table', 'json')
        'watch --output' = @('table', 'json')
        'plugins -o' = @('table', 'wide', 'json', 'yaml', 'name')
        'plugins --output' = @('table', 'wide', 'json', 'yaml', 'name')
        'versions -o' = @('table', 'wide', 'json', 'yaml', 'name')
        'versions --output' = @('table', 'wide', 'json', 'yaml', 'name')
        'config view -o' = @('json', 'yaml')
        'config view --output' = @('json', 'yaml')
        'config migrate -o' = @('json', 'yaml')
        'config migrate --output' = @('json', 'yaml')
    }
    $named = @('simulate -n', 'simulate --namespace', 'simulate --clone-node', 'simulate --remove-node', 'simulate --uncordon', 'simulate --cordon', 'simulate --label', 'simulate --taint', 'simulate --drain', 'capacity -n', 'capacity --namespace', 'capacity --clone-node', 'capacity --remove-node', 'capacity --uncordon', 'capacity --cordon', 'capacity --label', 'capacity --taint', 'capacity --drain', 'drain -n', 'drain --namespace', 'drain --clone-node', 'drain --remove-node', 'drain --uncordon', 'drain --cordon', 'drain --label', 'drain --taint', 'drain --drain', 'diff -n', 'diff --namespace', 'diff --clone-node', 'diff --remove-node', 'diff --uncordon', 'diff --cordon', 'diff --label', 'diff --taint', 'diff --drain', 'check -n', 'check --namespace', 'check --clone-node', 'check --remove-node', 'check --uncordon', 'check --cordon', 'check --label', 'check --taint', 'check --drain', 'explain -n', 'explain --namespace', 'explain --clone-node', 'explain --remove-node', 'explain --uncordon', 'explain --cordon', 'explain --label', 'explain --taint', 'explain --drain', 'explain --node', 'verify -n', 'verify --namespace', 'watch -n', 'watch --namespace', 'drain', 'explain')
    $at = ''; $previous = ''; $typed = @()
    foreach ($element in $ast.CommandElements | Select-Object -Skip 1) {
        if ($element.Extent.EndOffset -ge $position) { break }
        $previous = $element.ToString()
        $typed += $previous
        $next = "$at $previous".Trim()
        if ($words.ContainsKey($next)) { $at = $next }
    }
    $found = $values["$at $previous"]
    $names = $named -contains "$at $previous"
    if ($null -eq $found -and -not $names) { $found = $words[$at] }
    if ($names -or ($named -contains $at -and -not $current.StartsWith('-'))) {
        $more = & $ast.CommandElements[0].ToString() __complete --typing=$current @typed
        $found = @($found) + @($more | Where-Object { $_ -notlike ':*' })
    }
    $found | Where-Object { $_ -like "$current*" }
}
