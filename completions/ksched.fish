# Completion of ksched for fish; `ksched completion fish` prints it.
function __ksched_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    for line in ($typed[1] __complete $typed[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':0'
                __fish_complete_path "$current"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c ksched -f -a '(__ksched_complete)'
complete -c kubectl-ksched -f -a '(__ksched_complete)'
