# Completion of ksched for fish; `ksched completion fish` prints it.
complete -c ksched -n 'not __fish_seen_subcommand_from simulate capacity consolidate rightsize drain diff check explain-code explain snapshot demo verify report watch plugins completion versions version help size sweep scenario config' -f -a 'simulate capacity consolidate rightsize drain diff check explain-code explain snapshot demo verify report watch plugins completion versions version help size sweep scenario config'
complete -c ksched -n 'not __fish_seen_subcommand_from simulate capacity consolidate rightsize drain diff check explain-code explain snapshot demo verify report watch plugins completion versions version help size sweep scenario config' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l from
complete -c ksched -n '__fish_seen_subcommand_from simulate' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from simulate' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from simulate' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l helm
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l values
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from simulate' -s A -l all-namespaces
complete -c ksched -n '__fish_seen_subcommand_from simulate' -s l -l selector
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l context
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l as
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l config
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l seed
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l delete
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l scale
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l settle
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l max-time
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l max-cycles
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l orders
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l ties
complete -c ksched -n '__fish_seen_subcommand_from simulate' -s o -l output -x -a 'table wide json yaml name html'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l detail -x -a 'summary nodes full'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l timings
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l fail-on -x -a 'preemption warning'
complete -c ksched -n '__fish_seen_subcommand_from simulate' -l no-headers
complete -c ksched -n '__fish_seen_subcommand_from simulate' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l from
complete -c ksched -n '__fish_seen_subcommand_from capacity' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from capacity' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from capacity' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l helm
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l values
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l context
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l as
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l config
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l seed
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l delete
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l scale
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l mix
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l max
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l ignore-pending
complete -c ksched -n '__fish_seen_subcommand_from capacity' -s o -l output -x -a 'table wide json yaml name html'
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from capacity' -l no-headers
complete -c ksched -n '__fish_seen_subcommand_from capacity' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l from
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l helm
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l values
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l context
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l as
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l config
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l seed
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l delete
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l scale
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l catalog
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l keep-headroom
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l survive
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l only
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l force
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l delete-emptydir-data
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l time-limit
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -s o -l output -x -a 'table wide json yaml name markdown html'
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -l no-headers
complete -c ksched -n '__fish_seen_subcommand_from consolidate' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l from
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l helm
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l values
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l context
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l as
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l config
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l seed
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l delete
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l scale
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l catalog
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -s o -l output -x -a 'table wide json yaml markdown'
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -l no-headers
complete -c ksched -n '__fish_seen_subcommand_from rightsize' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from drain' -f -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l from
complete -c ksched -n '__fish_seen_subcommand_from drain' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from drain' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from drain' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from drain' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from drain' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from drain' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from drain' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from drain' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from drain' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from drain' -l helm
complete -c ksched -n '__fish_seen_subcommand_from drain' -l values
complete -c ksched -n '__fish_seen_subcommand_from drain' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from drain' -l context
complete -c ksched -n '__fish_seen_subcommand_from drain' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from drain' -l as
complete -c ksched -n '__fish_seen_subcommand_from drain' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from drain' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from drain' -l config
complete -c ksched -n '__fish_seen_subcommand_from drain' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from drain' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from drain' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from drain' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l seed
complete -c ksched -n '__fish_seen_subcommand_from drain' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from drain' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from drain' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from drain' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from drain' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l delete
complete -c ksched -n '__fish_seen_subcommand_from drain' -l scale
complete -c ksched -n '__fish_seen_subcommand_from drain' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from drain' -l dry-run -x -a 'none client server'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l chunk-size
complete -c ksched -n '__fish_seen_subcommand_from drain' -l skip-wait-for-delete-timeout
complete -c ksched -n '__fish_seen_subcommand_from drain' -s l -l selector
complete -c ksched -n '__fish_seen_subcommand_from drain' -l each -x -a 'node zone'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l force
complete -c ksched -n '__fish_seen_subcommand_from drain' -l ignore-daemonsets
complete -c ksched -n '__fish_seen_subcommand_from drain' -l delete-emptydir-data -l delete-local-data
complete -c ksched -n '__fish_seen_subcommand_from drain' -l pod-selector
complete -c ksched -n '__fish_seen_subcommand_from drain' -l disable-eviction
complete -c ksched -n '__fish_seen_subcommand_from drain' -l grace-period
complete -c ksched -n '__fish_seen_subcommand_from drain' -l timeout
complete -c ksched -n '__fish_seen_subcommand_from drain' -l ignore-pending
complete -c ksched -n '__fish_seen_subcommand_from drain' -s o -l output -x -a 'table wide json yaml name html'
complete -c ksched -n '__fish_seen_subcommand_from drain' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from drain' -l no-headers
complete -c ksched -n '__fish_seen_subcommand_from drain' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from diff' -l from
complete -c ksched -n '__fish_seen_subcommand_from diff' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from diff' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from diff' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from diff' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from diff' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from diff' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from diff' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from diff' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from diff' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from diff' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from diff' -l helm
complete -c ksched -n '__fish_seen_subcommand_from diff' -l values
complete -c ksched -n '__fish_seen_subcommand_from diff' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from diff' -s A -l all-namespaces
complete -c ksched -n '__fish_seen_subcommand_from diff' -s l -l selector
complete -c ksched -n '__fish_seen_subcommand_from diff' -l to
complete -c ksched -n '__fish_seen_subcommand_from diff' -l to-config
complete -c ksched -n '__fish_seen_subcommand_from diff' -l to-kube-version
complete -c ksched -n '__fish_seen_subcommand_from diff' -l to-feature-gates
complete -c ksched -n '__fish_seen_subcommand_from diff' -l to-filename
complete -c ksched -n '__fish_seen_subcommand_from diff' -l context
complete -c ksched -n '__fish_seen_subcommand_from diff' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from diff' -l as
complete -c ksched -n '__fish_seen_subcommand_from diff' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from diff' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from diff' -l config
complete -c ksched -n '__fish_seen_subcommand_from diff' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from diff' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from diff' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from diff' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l seed
complete -c ksched -n '__fish_seen_subcommand_from diff' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from diff' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from diff' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from diff' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from diff' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l delete
complete -c ksched -n '__fish_seen_subcommand_from diff' -l scale
complete -c ksched -n '__fish_seen_subcommand_from diff' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from diff' -s o -l output -x -a 'table wide json yaml markdown html'
complete -c ksched -n '__fish_seen_subcommand_from diff' -l expect-no-change
complete -c ksched -n '__fish_seen_subcommand_from diff' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from diff' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from check' -l from
complete -c ksched -n '__fish_seen_subcommand_from check' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from check' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from check' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from check' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from check' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from check' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from check' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from check' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from check' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from check' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from check' -l helm
complete -c ksched -n '__fish_seen_subcommand_from check' -l values
complete -c ksched -n '__fish_seen_subcommand_from check' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from check' -s A -l all-namespaces
complete -c ksched -n '__fish_seen_subcommand_from check' -s l -l selector
complete -c ksched -n '__fish_seen_subcommand_from check' -l context
complete -c ksched -n '__fish_seen_subcommand_from check' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from check' -l as
complete -c ksched -n '__fish_seen_subcommand_from check' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from check' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from check' -l config
complete -c ksched -n '__fish_seen_subcommand_from check' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from check' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from check' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from check' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from check' -l seed
complete -c ksched -n '__fish_seen_subcommand_from check' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from check' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from check' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from check' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from check' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from check' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from check' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from check' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from check' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from check' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from check' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from check' -l delete
complete -c ksched -n '__fish_seen_subcommand_from check' -l scale
complete -c ksched -n '__fish_seen_subcommand_from check' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from check' -l ignore
complete -c ksched -n '__fish_seen_subcommand_from check' -l baseline
complete -c ksched -n '__fish_seen_subcommand_from check' -l write-baseline
complete -c ksched -n '__fish_seen_subcommand_from check' -s o -l output -x -a 'table wide json yaml markdown html github junit sarif'
complete -c ksched -n '__fish_seen_subcommand_from check' -l restart
complete -c ksched -n '__fish_seen_subcommand_from check' -l replicas -x -a 'min current max all'
complete -c ksched -n '__fish_seen_subcommand_from check' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from check' -l fail-on -x -a 'preemption warning'
complete -c ksched -n '__fish_seen_subcommand_from check' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from explain-code' -s o -l output -x -a 'table json yaml'
complete -c ksched -n '__fish_seen_subcommand_from explain-code' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from explain' -f -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l from
complete -c ksched -n '__fish_seen_subcommand_from explain' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from explain' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from explain' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from explain' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from explain' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from explain' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from explain' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from explain' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from explain' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from explain' -l helm
complete -c ksched -n '__fish_seen_subcommand_from explain' -l values
complete -c ksched -n '__fish_seen_subcommand_from explain' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from explain' -s A -l all-namespaces
complete -c ksched -n '__fish_seen_subcommand_from explain' -s l -l selector
complete -c ksched -n '__fish_seen_subcommand_from explain' -l context
complete -c ksched -n '__fish_seen_subcommand_from explain' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from explain' -l as
complete -c ksched -n '__fish_seen_subcommand_from explain' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from explain' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from explain' -l config
complete -c ksched -n '__fish_seen_subcommand_from explain' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from explain' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from explain' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from explain' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l seed
complete -c ksched -n '__fish_seen_subcommand_from explain' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from explain' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from explain' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from explain' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from explain' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l delete
complete -c ksched -n '__fish_seen_subcommand_from explain' -l scale
complete -c ksched -n '__fish_seen_subcommand_from explain' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from explain' -l orders
complete -c ksched -n '__fish_seen_subcommand_from explain' -l ties
complete -c ksched -n '__fish_seen_subcommand_from explain' -l node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l no-fixes
complete -c ksched -n '__fish_seen_subcommand_from explain' -l catalog
complete -c ksched -n '__fish_seen_subcommand_from explain' -s o -l output -x -a 'table wide json yaml name html'
complete -c ksched -n '__fish_seen_subcommand_from explain' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from explain' -l no-headers
complete -c ksched -n '__fish_seen_subcommand_from explain' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l context
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l as
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l from
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -s o -l output
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l redact
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l redact-names
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l config
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -l redact-config
complete -c ksched -n '__fish_seen_subcommand_from snapshot' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from demo' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from demo' -s o -l output -x -a 'table wide json yaml name html'
complete -c ksched -n '__fish_seen_subcommand_from demo' -l detail -x -a 'summary nodes full'
complete -c ksched -n '__fish_seen_subcommand_from demo' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from verify' -l from
complete -c ksched -n '__fish_seen_subcommand_from verify' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from verify' -s A -l all-namespaces
complete -c ksched -n '__fish_seen_subcommand_from verify' -s l -l selector
complete -c ksched -n '__fish_seen_subcommand_from verify' -l context
complete -c ksched -n '__fish_seen_subcommand_from verify' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from verify' -l as
complete -c ksched -n '__fish_seen_subcommand_from verify' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from verify' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from verify' -l config
complete -c ksched -n '__fish_seen_subcommand_from verify' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from verify' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from verify' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from verify' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from verify' -l seed
complete -c ksched -n '__fish_seen_subcommand_from verify' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from verify' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from verify' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from verify' -s o -l output -x -a 'table wide json yaml name'
complete -c ksched -n '__fish_seen_subcommand_from verify' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from verify' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from report' -s o -l output -x -a 'html'
complete -c ksched -n '__fish_seen_subcommand_from report' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from watch' -l from
complete -c ksched -n '__fish_seen_subcommand_from watch' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from watch' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from watch' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from watch' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from watch' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from watch' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from watch' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from watch' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from watch' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from watch' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from watch' -l helm
complete -c ksched -n '__fish_seen_subcommand_from watch' -l values
complete -c ksched -n '__fish_seen_subcommand_from watch' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from watch' -s A -l all-namespaces
complete -c ksched -n '__fish_seen_subcommand_from watch' -s l -l selector
complete -c ksched -n '__fish_seen_subcommand_from watch' -l context
complete -c ksched -n '__fish_seen_subcommand_from watch' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from watch' -l as
complete -c ksched -n '__fish_seen_subcommand_from watch' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from watch' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from watch' -l config
complete -c ksched -n '__fish_seen_subcommand_from watch' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from watch' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from watch' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from watch' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from watch' -l seed
complete -c ksched -n '__fish_seen_subcommand_from watch' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from watch' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from watch' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from watch' -s o -l output -x -a 'table json'
complete -c ksched -n '__fish_seen_subcommand_from watch' -l for
complete -c ksched -n '__fish_seen_subcommand_from watch' -l count
complete -c ksched -n '__fish_seen_subcommand_from watch' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from plugins' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from plugins' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from plugins' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from plugins' -s o -l output -x -a 'table wide json yaml name'
complete -c ksched -n '__fish_seen_subcommand_from plugins' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish powershell'
complete -c ksched -n '__fish_seen_subcommand_from completion' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from versions' -s o -l output -x -a 'table wide json yaml name'
complete -c ksched -n '__fish_seen_subcommand_from versions' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from version' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from help' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -f -a 'catalog schema'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l from
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l helm
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l values
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l context
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l as
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l config
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l seed
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l delete
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l scale
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l catalog
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l time-limit
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l greedy
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l no-spot
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s o -l output -x -a 'table wide json yaml name markdown html'
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l no-headers
complete -c ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l from
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s A -l all-namespaces
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s l -l selector
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l context
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l as
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l config
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l seed
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l price
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l rate
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s o -l output -x -a 'json yaml'
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from schema' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -f -a 'validate schema'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l from
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s f -l filename
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s R -l recursive
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l exclude
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l stdin-filename
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l allow-empty
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l pod-template
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l create-namespace
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l assume-namespace
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s k -l kustomize
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l helm
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l values
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l strict -l no-strict
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l context
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l kubeconfig
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l as
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l as-group
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l request-timeout
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l config
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l tie-break -x -a 'name random'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l seed
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l sampling
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l allow-extenders
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l no-reuse
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l add-node
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l delete
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l scale
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l scenario
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l orders
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l ties
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l fail
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l grid
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l sample
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l keep
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l workers
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l dask
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l out
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l resume
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s o -l output -x -a 'table wide json yaml html csv jsonl parquet'
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l exit-zero
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l no-headers
complete -c ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from sweep; and __fish_seen_subcommand_from validate' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from sweep; and __fish_seen_subcommand_from schema' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from scenario; and not __fish_seen_subcommand_from validate schema' -f -a 'validate schema'
complete -c ksched -n '__fish_seen_subcommand_from scenario; and not __fish_seen_subcommand_from validate schema' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from scenario; and __fish_seen_subcommand_from validate' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from scenario; and __fish_seen_subcommand_from schema' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from view validate migrate schema' -f -a 'view validate migrate schema'
complete -c ksched -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from view validate migrate schema' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -l config
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -s o -l output -x -a 'json yaml'
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from validate' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from validate' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from validate' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from validate' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -l to
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -l feature-gates
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -l plugin
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -s o -l output -x -a 'json yaml'
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -s h -l help
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from schema' -l kube-version
complete -c ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from schema' -s h -l help
complete -c kubectl-ksched -n 'not __fish_seen_subcommand_from simulate capacity consolidate rightsize drain diff check explain-code explain snapshot demo verify report watch plugins completion versions version help size sweep scenario config' -f -a 'simulate capacity consolidate rightsize drain diff check explain-code explain snapshot demo verify report watch plugins completion versions version help size sweep scenario config'
complete -c kubectl-ksched -n 'not __fish_seen_subcommand_from simulate capacity consolidate rightsize drain diff check explain-code explain snapshot demo verify report watch plugins completion versions version help size sweep scenario config' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -s A -l all-namespaces
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -s l -l selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l settle
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l max-time
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l max-cycles
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l orders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l ties
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -s o -l output -x -a 'table wide json yaml name html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l detail -x -a 'summary nodes full'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l timings
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l fail-on -x -a 'preemption warning'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -l no-headers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from simulate' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l mix
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l max
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l ignore-pending
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -s o -l output -x -a 'table wide json yaml name html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -l no-headers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from capacity' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l catalog
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l keep-headroom
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l survive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l only
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l force
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l delete-emptydir-data
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l time-limit
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -s o -l output -x -a 'table wide json yaml name markdown html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -l no-headers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from consolidate' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l catalog
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -s o -l output -x -a 'table wide json yaml markdown'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -l no-headers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from rightsize' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -f -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l dry-run -x -a 'none client server'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l chunk-size
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l skip-wait-for-delete-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -s l -l selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l each -x -a 'node zone'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l force
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l ignore-daemonsets
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l delete-emptydir-data -l delete-local-data
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l pod-selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l disable-eviction
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l grace-period
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l ignore-pending
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -s o -l output -x -a 'table wide json yaml name html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -l no-headers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from drain' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -s A -l all-namespaces
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -s l -l selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l to
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l to-config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l to-kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l to-feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l to-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -s o -l output -x -a 'table wide json yaml markdown html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l expect-no-change
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from diff' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -s A -l all-namespaces
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -s l -l selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l ignore
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l baseline
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l write-baseline
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -s o -l output -x -a 'table wide json yaml markdown html github junit sarif'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l restart
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l replicas -x -a 'min current max all'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -l fail-on -x -a 'preemption warning'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from check' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain-code' -s o -l output -x -a 'table json yaml'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain-code' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -f -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -s A -l all-namespaces
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -s l -l selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l orders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l ties
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l no-fixes
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l catalog
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -s o -l output -x -a 'table wide json yaml name html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -l no-headers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from explain' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -s o -l output
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l redact
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l redact-names
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -l redact-config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from snapshot' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from demo' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from demo' -s o -l output -x -a 'table wide json yaml name html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from demo' -l detail -x -a 'summary nodes full'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from demo' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -s A -l all-namespaces
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -s l -l selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -s o -l output -x -a 'table wide json yaml name'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from verify' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from report' -s o -l output -x -a 'html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from report' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -s A -l all-namespaces
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -s l -l selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -s o -l output -x -a 'table json'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l for
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -l count
complete -c kubectl-ksched -n '__fish_seen_subcommand_from watch' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from plugins' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from plugins' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from plugins' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from plugins' -s o -l output -x -a 'table wide json yaml name'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from plugins' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish powershell'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from completion' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from versions' -s o -l output -x -a 'table wide json yaml name'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from versions' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from version' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from help' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -f -a 'catalog schema'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l catalog
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l time-limit
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l greedy
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l no-spot
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s o -l output -x -a 'table wide json yaml name markdown html'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -l no-headers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and not __fish_seen_subcommand_from catalog schema' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s A -l all-namespaces
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s l -l selector
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l price
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -l rate
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s o -l output -x -a 'json yaml'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from catalog' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from size; and __fish_seen_subcommand_from schema' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -f -a 'validate schema'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l from
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s f -l filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s n -l namespace -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s R -l recursive
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l exclude
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l stdin-filename
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l allow-empty
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l pod-template
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l create-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l assume-namespace
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s k -l kustomize
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l helm
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l values
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l strict -l no-strict
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l context
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l kubeconfig
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l as
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l as-group
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l request-timeout
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l tie-break -x -a 'name random'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l seed
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l sampling
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l allow-extenders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l no-reuse
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l add-node
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l clone-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l remove-node -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l uncordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l cordon -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l label -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l taint -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l drain -x -a '(set -l typed (commandline -opc); $typed[1] __complete $typed[2..-1] (commandline -ct) 2>/dev/null | string match -v ":*")'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l delete
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l scale
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l scenario
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l orders
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l ties
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l fail
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l grid
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l sample
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l keep
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l workers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l dask
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l out
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l resume
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s o -l output -x -a 'table wide json yaml html csv jsonl parquet'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l exit-zero
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -l no-headers
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and not __fish_seen_subcommand_from validate schema' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and __fish_seen_subcommand_from validate' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from sweep; and __fish_seen_subcommand_from schema' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from scenario; and not __fish_seen_subcommand_from validate schema' -f -a 'validate schema'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from scenario; and not __fish_seen_subcommand_from validate schema' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from scenario; and __fish_seen_subcommand_from validate' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from scenario; and __fish_seen_subcommand_from schema' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from view validate migrate schema' -f -a 'view validate migrate schema'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and not __fish_seen_subcommand_from view validate migrate schema' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -l config
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -s o -l output -x -a 'json yaml'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from view' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from validate' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from validate' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from validate' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from validate' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -l to
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -l feature-gates
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -l plugin
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -s o -l output -x -a 'json yaml'
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from migrate' -s h -l help
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from schema' -l kube-version
complete -c kubectl-ksched -n '__fish_seen_subcommand_from config; and __fish_seen_subcommand_from schema' -s h -l help
