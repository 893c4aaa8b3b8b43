# Completion of ksched for bash; `ksched completion bash` prints it.
_ksched_names() {
    "${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | grep -v "^:" | cut -f 1
}
_ksched_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
_ksched() {
    local at="" word found="" current="${COMP_WORDS[COMP_CWORD]}"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$at $word" in
            " simulate"|" capacity"|" consolidate"|" rightsize"|" drain"|" diff"|" check"|" explain-code"|" explain"|" snapshot"|" trace"|" demo"|" verify"|" report"|" watch"|" plugins"|" completion"|" versions"|" version"|" help"|" size"|" sweep"|" scenario"|" config"|"size catalog"|"size schema"|"sweep validate"|"sweep schema"|"scenario validate"|"scenario schema"|"config view"|"config validate"|"config migrate"|"config schema") at="${at:+$at }$word" ;;
        esac
    done
    case "$at ${COMP_WORDS[COMP_CWORD-1]}" in
        "simulate --tie-break") found="name random" ;;
        "simulate -o") found="table wide json yaml name html" ;;
        "simulate --output") found="table wide json yaml name html" ;;
        "simulate --detail") found="summary nodes full" ;;
        "simulate --fail-on") found="preemption warning" ;;
        "capacity --tie-break") found="name random" ;;
        "capacity -o") found="table wide json yaml name html" ;;
        "capacity --output") found="table wide json yaml name html" ;;
        "consolidate --tie-break") found="name random" ;;
        "consolidate -o") found="table wide json yaml name markdown html" ;;
        "consolidate --output") found="table wide json yaml name markdown html" ;;
        "rightsize --tie-break") found="name random" ;;
        "rightsize -o") found="table wide json yaml markdown html" ;;
        "rightsize --output") found="table wide json yaml markdown html" ;;
        "drain --tie-break") found="name random" ;;
        "drain --dry-run") found="none client server" ;;
        "drain --each") found="node zone" ;;
        "drain -o") found="table wide json yaml name markdown html" ;;
        "drain --output") found="table wide json yaml name markdown html" ;;
        "diff --tie-break") found="name random" ;;
        "diff -o") found="table wide json yaml markdown html" ;;
        "diff --output") found="table wide json yaml markdown html" ;;
        "check --tie-break") found="name random" ;;
        "check -o") found="table wide json yaml markdown html github junit sarif" ;;
        "check --output") found="table wide json yaml markdown html github junit sarif" ;;
        "check --replicas") found="min current max all" ;;
        "check --fail-on") found="preemption warning" ;;
        "explain-code -o") found="table json yaml" ;;
        "explain-code --output") found="table json yaml" ;;
        "explain --tie-break") found="name random" ;;
        "explain -o") found="table wide json yaml name html" ;;
        "explain --output") found="table wide json yaml name html" ;;
        "demo -o") found="table wide json yaml name html" ;;
        "demo --output") found="table wide json yaml name html" ;;
        "demo --detail") found="summary nodes full" ;;
        "verify --tie-break") found="name random" ;;
        "verify -o") found="table wide json yaml name" ;;
        "verify --output") found="table wide json yaml name" ;;
        "report -o") found="html" ;;
        "report --output") found="html" ;;
        "watch --tie-break") found="name random" ;;
        "watch -o") found="table json" ;;
        "watch --output") found="table json" ;;
        "plugins -o") found="table wide json yaml name" ;;
        "plugins --output") found="table wide json yaml name" ;;
        "versions -o") found="table wide json yaml name" ;;
        "versions --output") found="table wide json yaml name" ;;
        "size --tie-break") found="name random" ;;
        "size -o") found="table wide json yaml name markdown html" ;;
        "size --output") found="table wide json yaml name markdown html" ;;
        "size catalog --tie-break") found="name random" ;;
        "size catalog -o") found="json yaml" ;;
        "size catalog --output") found="json yaml" ;;
        "sweep --tie-break") found="name random" ;;
        "sweep -o") found="table wide json yaml html csv jsonl parquet" ;;
        "sweep --output") found="table wide json yaml html csv jsonl parquet" ;;
        "config view -o") found="json yaml" ;;
        "config view --output") found="json yaml" ;;
        "config migrate -o") found="json yaml" ;;
        "config migrate --output") found="json yaml" ;;
        "simulate -n"|"simulate --namespace"|"simulate --kube-version"|"simulate --clone-node"|"simulate --remove-node"|"simulate --uncordon"|"simulate --cordon"|"simulate --label"|"simulate --taint"|"simulate --drain"|"simulate --delete"|"simulate --scale"|"capacity -n"|"capacity --namespace"|"capacity --kube-version"|"capacity --clone-node"|"capacity --remove-node"|"capacity --uncordon"|"capacity --cordon"|"capacity --label"|"capacity --taint"|"capacity --drain"|"capacity --delete"|"capacity --scale"|"consolidate -n"|"consolidate --namespace"|"consolidate --kube-version"|"consolidate --clone-node"|"consolidate --remove-node"|"consolidate --uncordon"|"consolidate --cordon"|"consolidate --label"|"consolidate --taint"|"consolidate --drain"|"consolidate --delete"|"consolidate --scale"|"rightsize -n"|"rightsize --namespace"|"rightsize --kube-version"|"rightsize --clone-node"|"rightsize --remove-node"|"rightsize --uncordon"|"rightsize --cordon"|"rightsize --label"|"rightsize --taint"|"rightsize --drain"|"rightsize --delete"|"rightsize --scale"|"drain -n"|"drain --namespace"|"drain --kube-version"|"drain --clone-node"|"drain --remove-node"|"drain --uncordon"|"drain --cordon"|"drain --label"|"drain --taint"|"drain --drain"|"drain --delete"|"drain --scale"|"diff -n"|"diff --namespace"|"diff --to-kube-version"|"diff --kube-version"|"diff --clone-node"|"diff --remove-node"|"diff --uncordon"|"diff --cordon"|"diff --label"|"diff --taint"|"diff --drain"|"diff --delete"|"diff --scale"|"check -n"|"check --namespace"|"check --kube-version"|"check --clone-node"|"check --remove-node"|"check --uncordon"|"check --cordon"|"check --label"|"check --taint"|"check --drain"|"check --delete"|"check --scale"|"explain -n"|"explain --namespace"|"explain --kube-version"|"explain --clone-node"|"explain --remove-node"|"explain --uncordon"|"explain --cordon"|"explain --label"|"explain --taint"|"explain --drain"|"explain --delete"|"explain --scale"|"explain --node"|"demo --kube-version"|"verify -n"|"verify --namespace"|"verify --kube-version"|"watch -n"|"watch --namespace"|"watch --kube-version"|"plugins --kube-version"|"size -n"|"size --namespace"|"size --kube-version"|"size --clone-node"|"size --remove-node"|"size --uncordon"|"size --cordon"|"size --label"|"size --taint"|"size --drain"|"size --delete"|"size --scale"|"size catalog -n"|"size catalog --namespace"|"size catalog --kube-version"|"sweep -n"|"sweep --namespace"|"sweep --kube-version"|"sweep --clone-node"|"sweep --remove-node"|"sweep --uncordon"|"sweep --cordon"|"sweep --label"|"sweep --taint"|"sweep --drain"|"sweep --delete"|"sweep --scale"|"config view --kube-version"|"config validate --kube-version"|"config migrate --kube-version"|"config schema --kube-version") found="$(_ksched_names)" ;;
        "simulate --from"|"simulate -f"|"simulate --filename"|"simulate --stdin-filename"|"simulate -k"|"simulate --kustomize"|"simulate --helm"|"simulate --values"|"simulate --kubeconfig"|"simulate --config"|"simulate --add-node"|"simulate --scenario"|"capacity --from"|"capacity -f"|"capacity --filename"|"capacity --stdin-filename"|"capacity -k"|"capacity --kustomize"|"capacity --helm"|"capacity --values"|"capacity --kubeconfig"|"capacity --config"|"capacity --add-node"|"capacity --scenario"|"consolidate --from"|"consolidate -f"|"consolidate --filename"|"consolidate --stdin-filename"|"consolidate -k"|"consolidate --kustomize"|"consolidate --helm"|"consolidate --values"|"consolidate --kubeconfig"|"consolidate --config"|"consolidate --add-node"|"consolidate --scenario"|"consolidate --catalog"|"rightsize --from"|"rightsize -f"|"rightsize --filename"|"rightsize --stdin-filename"|"rightsize -k"|"rightsize --kustomize"|"rightsize --helm"|"rightsize --values"|"rightsize --kubeconfig"|"rightsize --config"|"rightsize --add-node"|"rightsize --scenario"|"rightsize --catalog"|"drain --from"|"drain -f"|"drain --filename"|"drain --stdin-filename"|"drain -k"|"drain --kustomize"|"drain --helm"|"drain --values"|"drain --kubeconfig"|"drain --config"|"drain --add-node"|"drain --scenario"|"diff --from"|"diff -f"|"diff --filename"|"diff --stdin-filename"|"diff -k"|"diff --kustomize"|"diff --helm"|"diff --values"|"diff --to"|"diff --to-config"|"diff --to-filename"|"diff --kubeconfig"|"diff --config"|"diff --add-node"|"diff --scenario"|"check --from"|"check -f"|"check --filename"|"check --stdin-filename"|"check -k"|"check --kustomize"|"check --helm"|"check --values"|"check --kubeconfig"|"check --config"|"check --add-node"|"check --scenario"|"check --baseline"|"check --write-baseline"|"explain --from"|"explain -f"|"explain --filename"|"explain --stdin-filename"|"explain -k"|"explain --kustomize"|"explain --helm"|"explain --values"|"explain --kubeconfig"|"explain --config"|"explain --add-node"|"explain --scenario"|"explain --catalog"|"snapshot --kubeconfig"|"snapshot --from"|"snapshot -o"|"snapshot --output"|"snapshot --redact-names"|"snapshot --config"|"snapshot --redact-config"|"trace -o"|"trace --output"|"verify --from"|"verify --kubeconfig"|"verify --config"|"watch --from"|"watch -f"|"watch --filename"|"watch --stdin-filename"|"watch -k"|"watch --kustomize"|"watch --helm"|"watch --values"|"watch --kubeconfig"|"watch --config"|"size --from"|"size -f"|"size --filename"|"size --stdin-filename"|"size -k"|"size --kustomize"|"size --helm"|"size --values"|"size --kubeconfig"|"size --config"|"size --add-node"|"size --scenario"|"size --catalog"|"size catalog --from"|"size catalog --kubeconfig"|"size catalog --config"|"sweep --from"|"sweep -f"|"sweep --filename"|"sweep --stdin-filename"|"sweep -k"|"sweep --kustomize"|"sweep --helm"|"sweep --values"|"sweep --kubeconfig"|"sweep --config"|"sweep --add-node"|"sweep --scenario"|"sweep --grid"|"sweep --out"|"config view --config") _ksched_files; return ;;
        "simulate --exclude"|"simulate --pod-template"|"simulate --assume-namespace"|"simulate -l"|"simulate --selector"|"simulate --context"|"simulate --as"|"simulate --as-group"|"simulate --request-timeout"|"simulate --feature-gates"|"simulate --plugin"|"simulate --seed"|"simulate --max-time"|"simulate --max-cycles"|"simulate --orders"|"simulate --ties"|"capacity --exclude"|"capacity --pod-template"|"capacity --assume-namespace"|"capacity --context"|"capacity --as"|"capacity --as-group"|"capacity --request-timeout"|"capacity --feature-gates"|"capacity --plugin"|"capacity --seed"|"capacity --mix"|"capacity --max"|"consolidate --exclude"|"consolidate --pod-template"|"consolidate --assume-namespace"|"consolidate --context"|"consolidate --as"|"consolidate --as-group"|"consolidate --request-timeout"|"consolidate --feature-gates"|"consolidate --plugin"|"consolidate --seed"|"consolidate --keep-headroom"|"consolidate --survive"|"consolidate --only"|"consolidate --time-limit"|"rightsize --exclude"|"rightsize --pod-template"|"rightsize --assume-namespace"|"rightsize --context"|"rightsize --as"|"rightsize --as-group"|"rightsize --request-timeout"|"rightsize --feature-gates"|"rightsize --plugin"|"rightsize --seed"|"drain --exclude"|"drain --pod-template"|"drain --assume-namespace"|"drain --context"|"drain --as"|"drain --as-group"|"drain --request-timeout"|"drain --feature-gates"|"drain --plugin"|"drain --seed"|"drain --chunk-size"|"drain --skip-wait-for-delete-timeout"|"drain -l"|"drain --selector"|"drain --pod-selector"|"drain --grace-period"|"drain --timeout"|"diff --exclude"|"diff --pod-template"|"diff --assume-namespace"|"diff -l"|"diff --selector"|"diff --to-feature-gates"|"diff --context"|"diff --as"|"diff --as-group"|"diff --request-timeout"|"diff --feature-gates"|"diff --plugin"|"diff --seed"|"check --exclude"|"check --pod-template"|"check --assume-namespace"|"check -l"|"check --selector"|"check --context"|"check --as"|"check --as-group"|"check --request-timeout"|"check --feature-gates"|"check --plugin"|"check --seed"|"check --ignore"|"explain --exclude"|"explain --pod-template"|"explain --assume-namespace"|"explain -l"|"explain --selector"|"explain --context"|"explain --as"|"explain --as-group"|"explain --request-timeout"|"explain --feature-gates"|"explain --plugin"|"explain --seed"|"explain --orders"|"explain --ties"|"snapshot --context"|"snapshot --as"|"snapshot --as-group"|"snapshot --request-timeout"|"trace --mapping"|"trace --seed"|"trace --fill"|"verify -l"|"verify --selector"|"verify --context"|"verify --as"|"verify --as-group"|"verify --request-timeout"|"verify --feature-gates"|"verify --plugin"|"verify --seed"|"watch --exclude"|"watch --pod-template"|"watch --assume-namespace"|"watch -l"|"watch --selector"|"watch --context"|"watch --as"|"watch --as-group"|"watch --request-timeout"|"watch --feature-gates"|"watch --plugin"|"watch --seed"|"watch --for"|"watch --count"|"plugins --feature-gates"|"plugins --plugin"|"size --exclude"|"size --pod-template"|"size --assume-namespace"|"size --context"|"size --as"|"size --as-group"|"size --request-timeout"|"size --feature-gates"|"size --plugin"|"size --seed"|"size --time-limit"|"size catalog -l"|"size catalog --selector"|"size catalog --context"|"size catalog --as"|"size catalog --as-group"|"size catalog --request-timeout"|"size catalog --feature-gates"|"size catalog --plugin"|"size catalog --seed"|"size catalog --price"|"size catalog --rate"|"sweep --exclude"|"sweep --pod-template"|"sweep --assume-namespace"|"sweep --context"|"sweep --as"|"sweep --as-group"|"sweep --request-timeout"|"sweep --feature-gates"|"sweep --plugin"|"sweep --seed"|"sweep --orders"|"sweep --ties"|"sweep --fail"|"sweep --sample"|"sweep --keep"|"sweep --workers"|"sweep --dask"|"config view --feature-gates"|"config view --plugin"|"config validate --feature-gates"|"config validate --plugin"|"config migrate --to"|"config migrate --feature-gates"|"config migrate --plugin") return ;;
        *) if [[ "$current" == -* ]]; then case "$at" in
            "") found="-h --help" ;;
            "simulate") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --settle --max-time --max-cycles --orders --ties -o --output --detail --timings --exit-zero --fail-on --no-headers -h --help" ;;
            "capacity") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --mix --max --ignore-pending -o --output --exit-zero --no-headers -h --help" ;;
            "consolidate") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --catalog --keep-headroom --survive --only --force --delete-emptydir-data --time-limit -o --output --no-headers -h --help" ;;
            "rightsize") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --catalog -o --output --exit-zero --no-headers -h --help" ;;
            "drain") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --dry-run --chunk-size --skip-wait-for-delete-timeout -l --selector --each --force --ignore-daemonsets --delete-emptydir-data --delete-local-data --pod-selector --disable-eviction --grace-period --timeout --ignore-pending -o --output --exit-zero --no-headers -h --help" ;;
            "diff") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --to --to-config --to-kube-version --to-feature-gates --to-filename --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario -o --output --expect-no-change --exit-zero -h --help" ;;
            "check") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --ignore --baseline --write-baseline -o --output --restart --replicas --exit-zero --fail-on -h --help" ;;
            "explain-code") found="-o --output -h --help" ;;
            "explain") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --orders --ties --node --no-fixes --catalog -o --output --exit-zero --no-headers -h --help" ;;
            "snapshot") found="--context --kubeconfig --as --as-group --request-timeout --from -o --output --redact --redact-names --config --redact-config -h --help" ;;
            "trace") found="--mapping --seed --fill -o --output -h --help" ;;
            "demo") found="--kube-version -o --output --detail -h --help" ;;
            "verify") found="--from -n --namespace -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse -o --output --exit-zero -h --help" ;;
            "report") found="-o --output -h --help" ;;
            "watch") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse -o --output --for --count -h --help" ;;
            "plugins") found="--kube-version --feature-gates --plugin -o --output -h --help" ;;
            "completion") found="-h --help" ;;
            "versions") found="-o --output -h --help" ;;
            "version") found="-h --help" ;;
            "help") found="-h --help" ;;
            "size") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --catalog --time-limit --greedy --no-spot -o --output --exit-zero --no-headers -h --help" ;;
            "size catalog") found="--from -n --namespace -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --price --rate -o --output -h --help" ;;
            "size schema") found="-h --help" ;;
            "sweep") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --orders --ties --fail --grid --sample --keep --workers --dask --out --resume -o --output --exit-zero --no-headers -h --help" ;;
            "sweep validate") found="-h --help" ;;
            "sweep schema") found="-h --help" ;;
            "scenario") found="-h --help" ;;
            "scenario validate") found="-h --help" ;;
            "scenario schema") found="-h --help" ;;
            "config") found="-h --help" ;;
            "config view") found="--config --kube-version --feature-gates --plugin -o --output -h --help" ;;
            "config validate") found="--kube-version --feature-gates --plugin -h --help" ;;
            "config migrate") found="--to --kube-version --feature-gates --plugin -o --output -h --help" ;;
            "config schema") found="--kube-version -h --help" ;;
            esac; else case "$at" in
            "") found="simulate capacity consolidate rightsize drain diff check explain-code explain snapshot trace demo verify report watch plugins completion versions version help size sweep scenario config" ;;
            "completion") found="bash zsh fish powershell" ;;
            "size") found="catalog schema" ;;
            "sweep") found="validate schema" ;;
            "scenario") found="validate schema" ;;
            "config") found="view validate migrate schema" ;;
            esac; case "$at" in
            "drain"|"explain"|"versions"|"help") found="$found $(_ksched_names)" ;;
            "check"|"report"|"sweep validate"|"scenario validate"|"config validate"|"config migrate") _ksched_files; return ;;
            esac; fi ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$found" -- "$current")
    [[ "${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _ksched ksched kubectl-ksched
