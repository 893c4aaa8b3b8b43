# Completion of ksched for bash; `ksched completion bash` prints it.
_ksched() {
    local line current="${COMP_WORDS[COMP_CWORD]}" files=""
    COMPREPLY=()
    while IFS= read -r line; do
        case "$line" in
            :0) files=1 ;;
            :6) compopt -o nospace 2>/dev/null ;;
            :*) ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ -n "$files" ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    fi
    return 0
}
complete -F _ksched ksched kubectl-ksched
